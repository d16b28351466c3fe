package main

import (
	"fmt"
	"io"
	"strings"
)

// printSettings writes the settings that count as lines of a settings file, each
// with its place and, if it says auto, with what that came to.
func printSettings(w io.Writer, o *Options, table []*setting) {
	came := map[string]string{"loops": fmt.Sprint(o.Loops), "handlers": fmt.Sprint(o.Handlers),
		"max-conns": fmt.Sprint(o.MaxConns), "index-memory": sizeText(o.IndexMemory)}
	for _, s := range table {
		if s.from != anywhere {
			continue
		}
		note := s.origin
		if n, ok := came[s.name]; ok && s.text == "auto" {
			note += ", here " + n
		}
		fmt.Fprintf(w, "%-34s # %s\n", s.name+" = "+s.text, note)
	}
}

// printHelp writes the table of settings.
func printHelp(w io.Writer, table []*setting) {
	fmt.Fprint(w, "darboux [flags]: an event server that speaks Riemann's protocol\n\n")
	for _, s := range table {
		fmt.Fprintf(w, "  %s\n        %s%s\n", strings.TrimSpace("--"+s.name+" "+s.value), s.help, s.initialText())
	}
	fmt.Fprintf(w, "\nA flag wins over its variable (--max-frame: %s), that over the file given by\n--config (max-frame = 16MiB), that over the default.\n", settingNamed(table, "max-frame").variable())
}

func (s *setting) initialText() string {
	if s.value == "" || s.initial == "" {
		return ""
	}
	return " (default " + s.initial + ")"
}
