package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// parseAll parses flags that may stand before, between and after other
// arguments, which it returns.
func parseAll(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, doubleDash(err)
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// doubleDash writes flags as the help does.
func doubleDash(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return flag.ErrHelp
	}
	text := err.Error()
	for _, before := range []string{"for flag -", "not defined: -", "needs an argument: -"} {
		text = strings.Replace(text, before, before+"-", 1)
	}
	return errors.New(text)
}

func printHelp(w io.Writer, fs *flag.FlagSet, usage string) {
	fmt.Fprintf(w, "%s\n\nFlags:\n", usage)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fs.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(t, "  --%s %s\t%s\n", f.Name, name, text)
	})
	t.Flush()
}

// overview is the help of the program as a whole.
func overview() string {
	var b strings.Builder
	b.WriteString("darboux-load puts a Riemann server under load and tells the truth about it.\n\nUsage: darboux-load [COMMAND] [FLAGS]\n\nCommands (each has --help):\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-8s %s\n", c.name, c.help)
	}
	b.WriteString("\nScenarios (--scenario):\n")
	for _, s := range scenarios {
		fmt.Fprintf(&b, "  %-14s %s\n", s.name, s.help)
	}
	b.WriteString("\nExit codes: 0; 1 a promise (--expect-…) broken or --verify failed; 2 usage; 3 under 99 % of --rate.")
	return b.String()
}

// parseSmall parses the flags of a command that is no run.
func parseSmall(name, usage string, args []string, out io.Writer, register func(*flag.FlagSet)) ([]string, error) {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	register(fs)
	rest, err := parseAll(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		printHelp(out, fs, usage)
		return nil, err
	}
	if err != nil {
		return nil, usageError{err}
	}
	return rest, nil
}
