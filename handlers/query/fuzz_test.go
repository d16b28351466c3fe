package query

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"darboux/handlers/riemann"
	"darboux/handlers/riemann/pb"
)

// fuzzTexts adds some of the oracle's queries of each category as seeds.
func fuzzTexts(f *testing.F, add func(text string)) {
	seen := map[string]int{}
	last := ""
	for _, row := range oracleRows(f) {
		if row.Query != last && seen[row.Category] < 8 && len(row.Query) < 300 {
			seen[row.Category]++
			add(row.Query)
		}
		last = row.Query
	}
}

// FuzzLex: tokens stand one after the other, nothing but blanks stands between
// them, and they come to an end.
func FuzzLex(f *testing.F) {
	fuzzTexts(f, func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		l := lexer{text: text}
		behind := 0
		for {
			tok := l.next()
			if tok.at < behind {
				t.Fatalf("%q: token %q at %d begins within the one before it", text, tok.text, tok.at)
			}
			between := text[behind:tok.at]
			if strings.TrimFunc(strings.ReplaceAll(between, ",", ""), isWhite) != "" {
				t.Fatalf("%q: %q is in no token", text, between)
			}
			if tok.kind == tokenEnd {
				break
			}
			if tok.text == "" || text[tok.at:tok.at+len(tok.text)] != tok.text {
				t.Fatalf("%q: token %q at %d", text, tok.text, tok.at)
			}
			behind = tok.at + len(tok.text)
		}
	})
}

func isWhite(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// FuzzParse: a text is an *Error that can be sent to a client, or a query whose
// String is the same query.
func FuzzParse(f *testing.F) {
	fuzzTexts(f, func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(text)
		if err == nil {
			if len(p.tree.String()) <= MaxText { // escapes may take more bytes
				roundTrip(t, p.tree)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || e.At < 1 || e.At > utf8.RuneCountInString(text)+1 || !utf8.ValidString(err.Error()) || len(err.Error()) > 2000 {
			t.Errorf("%q: %#v", text, err)
		}
	})
}

// FuzzMatch: any query on any event that both parse gives what the naive
// evaluator gives on what protobuf decodes.
func FuzzMatch(f *testing.F) {
	raw, err := proto.Marshal(typicalEvent())
	if err != nil {
		f.Fatal(err)
	}
	fuzzTexts(f, func(text string) { f.Add(text, raw) })
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		p, err := parse(text)
		if err != nil || p.steps > 500 {
			return
		}
		q, err := Compile(text)
		if err != nil {
			t.Fatalf("%q parses but does not compile: %v", text, err)
		}
		var e riemann.Event
		var event pb.Event
		if e.Parse(raw) != nil || (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(raw, &event) != nil {
			return
		}
		if got, want := q.Match(&e), (naive{Event: &event}).matches(p.tree); got != want {
			t.Errorf("%q on %v: %v, naive %v", text, &event, got, want)
		}
		var again riemann.Event
		if err := again.ParseStored(e.AppendStored(nil, testNow, 60), e.Kept()); err != nil {
			t.Fatal(err)
		}
		if got, want := q.Match(&again), (naive{&event, true, 60}).matches(p.tree); got != want {
			t.Errorf("%q on %v as stored: %v, naive %v", text, &event, got, want)
		}
	})
}
