package index

import (
	"flag"
	"os"
	"testing"
)

// TestMain makes the test binary the process that is to be killed, if it was
// started as that; see TestSnapshotWriterKilled. Property tests make fewer checks
// in race builds, which are some ten times slower, unless the flag says how many.
func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		writeForever(path)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if raceBuild && !given {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
