package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// dump writes a tree with all its parentheses.
func dump(p predicate) string {
	all := func(word string, terms []predicate) string {
		s := "(" + word
		for _, t := range terms {
			s += " " + dump(t)
		}
		return s + ")"
	}
	switch p := p.(type) {
	case and:
		return all("and", p.terms)
	case or:
		return all("or", p.terms)
	case not:
		return all("not", []predicate{p.term})
	case compare:
		return fmt.Sprintf("(%s %s %s)", p.op, dumpValue(p.left), dumpValue(p.right))
	case like:
		return fmt.Sprintf("(=~ %s %q)", dumpValue(p.left), p.pattern)
	case match:
		return fmt.Sprintf("(~= %s %q)", dumpValue(p.left), p.pattern)
	case tagged:
		return fmt.Sprintf("(tagged %q)", p.tag)
	case present:
		return dumpValue(p.of)
	}
	return fmt.Sprintf("%T", p)
}

func dumpValue(v value) string {
	if v.kind == isField {
		return ":" + v.text
	}
	if v.kind == isText {
		return fmt.Sprintf("%q", v.text)
	}
	return v.String()
}

func TestParse(t *testing.T) {
	for _, row := range []struct{ text, tree string }{
		{`a or b and not c`, `(or :a (and :b (not :c)))`},
		{`not a and b`, `(and (not :a) :b)`},
		{`not not (a or b)`, `(not (not (or :a :b)))`},
		{`a and b and c`, `(and :a :b :c)`},
		{`(a and b) and c`, `(and (and :a :b) :c)`},
		{`((a))`, `:a`},
		{`host = "a"and(service="b")or x`, `(or (and (= :host "a") (= :service "b")) :x)`},
		{`1and 0`, `(and 1 0)`},
		{`tagged"x"`, `(tagged "x")`},
		{`a!=b`, `(!= :a :b)`},
		{`a=~"b%"`, `(=~ :a "b%")`},
		{`a~="b"`, `(~= :a "b")`},
		{`5>=3`, `(>= 5 3)`},
		{`"a"=host`, `(= "a" :host)`},
		{`a,=,,1,`, `(= :a 1)`},
		// Numbers, and names that begin like them.
		{`-1`, `-1`}, {`-01`, `-1`}, {`00.5`, `0.5`}, {`1e5`, `100000.0`}, {`1E-2`, `0.01`}, {`-0.0`, `-0.0`},
		{`1e21`, `1e21`}, {`1e400`, `Infinity`}, {`-1e400`, `-Infinity`}, {`1e-400`, `0.0`}, {`NaN`, `NaN`}, {`-NaN`, `NaN`},
		{`1n`, `1`}, {`9223372036854775808N`, `9223372036854775808N`}, {`-9223372036854775808`, `-9223372036854775808`},
		{`-`, `:-`}, {`-x`, `:-x`}, {`-1x`, `:-1x`}, {`-.5`, `:-.5`}, {`+1`, `:+1`}, {`.5`, `:.5`}, {`-1e+5`, `:-1e+5`},
		{`Infinityx`, `:Infinityx`}, {`-Infinity`, `-Infinity`}, {`infinity`, `:infinity`},
		// Names: whatever is not used otherwise.
		{`andx or nilx and truex`, `(or :andx (and :nilx :truex))`},
		{`a.b`, `:a.b`}, {`a:b:c`, `:a:b:c`}, {`a:1`, `:a:1`}, {`$x?*&|;`, `:$x?*&|;`}, {`x!`, `:x!`}, {"😀", ":😀"}, {`TRUE`, `:TRUE`},
		{"a\u00a0b", ":a\u00a0b"}, {"a\u00a0", ":a\u00a0"}, {"\va", ":\va"}, {"a\xffb", ":a\xffb"},
		{"a\u00a0=\u00a01", `(= :a 1)`}, {"a =\u3000\"x\"", `(= :a "x")`}, {"a\u00a0 = 1", "(= :a\u00a0 1)"}, {"\u200b= a", ""},
		// Strings.
		{`"\t\r\n\\\"\b\f\u0041\101\0"`, `"\t\r\n\\\"\b\fAA\x00"`},
		{`"\uD83D\uDE00"`, `"😀"`}, {`"\uD83D"`, `"\xed\xa0\xbd"`}, {`"\uDE00\uD83D"`, `"\xed\xb8\x80\xed\xa0\xbd"`},
		{`"\1019"`, `"A9"`}, {`"\10 "`, `"\b "`}, {`"\377"`, `"ÿ"`}, {"\"a\nb\"", `"a\nb"`}, {"\"\xff\"", `"\xff"`},
		{`"a\\"`, `"a\\"`}, {`("a\\")`, `"a\\"`}, {`"a\\" or b = "`, `"a\\"`},
		{`a = "x\" y\"" and b`, `(and (= :a "x\" y\"") :b)`},
	} {
		p, err := parse(row.text)
		switch {
		case row.tree == "":
			if err == nil {
				t.Errorf("%q is %s", row.text, dump(p.tree))
			}
		case err != nil:
			t.Errorf("%q: %v", row.text, err)
		case dump(p.tree) != row.tree:
			t.Errorf("%q is %s, want %s", row.text, dump(p.tree), row.tree)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{`state and 1 > x`, `at 15: expected a number after ">", found "x"`},
		{`metric < "1"`, `at 10: expected a number after "<", found the string "1"`},
		{``, `at 1: expected a field, a value, "not" or "(", found the end`},
		{`host = `, `at 8: expected a value or a field after "=", found the end`},
		{`host == "a"`, `at 7: expected a value or a field after "=", found "="`},
		{`host = 'a'`, `at 8: expected a value or a field after "=", found "'"`},
		{`é = and`, `at 5: expected a value or a field after "=", found "and"`},
		{`host =~ 1`, `at 9: expected a string after "=~", found "1"`},
		{`host ~= x`, `at 9: expected a string after "~=", found "x"`},
		{`tagged x`, `at 8: expected a string after "tagged", found "x"`},
		{`a && b`, `at 3: expected "and", "or" or the end, found "&&"`},
		{`(a`, `at 3: expected "and", "or" or ")", found the end`},
		{`a)`, `at 2: expected "and", "or" or the end, found ")"`},
		{`a and or b`, `at 7: expected a field, a value, "not" or "(" after "and", found "or"`},
		{`not`, `at 4: expected a field, a value, "not" or "(" after "not", found the end`},
		{`a:!=0`, `at 2: expected "and", "or" or the end, found ":"`},
		{`a:=0`, `at 2: expected "and", "or" or the end, found ":"`},
		{`a::b`, `at 2: expected "and", "or" or the end, found ":"`},
		{`host = "abc`, `at 8: expected a string with a closing quote, found "\"abc"`},
		{`metric = 1l`, `at 10: expected an integer without l behind it, found "1l"`},
		{`metric = 1L and`, `at 10: expected an integer without l behind it, found "1L"`},
		{`metric = 9223372036854775808`, `at 10: expected an integer between -9223372036854775808 and 9223372036854775807 (or N behind it), found "9223372036854775808"`},
		{`metric = 1.0.0`, `at 13: expected "and", "or" or the end, found ".0"`},
		{`metric = 0x1`, `at 11: expected "and", "or" or the end, found "x1"`},
		{`a = "é\d"`, `at 7: expected an escape that exists (\t \r \n \\ \" \b \f \u0000 \000), found "\\d"`},
		{`a = "\é"`, `at 6: expected an escape that exists (\t \r \n \\ \" \b \f \u0000 \000), found "\\é"`},
		{`a = "\u00g0"`, `at 6: expected four hexadecimal digits behind \u, found "\\u00g0"`},
		{`a = "\u00"`, `at 6: expected four hexadecimal digits behind \u, found "\\u00\""`},
		{`a = "\8"`, `at 6: expected an octal digit, found "\\8"`},
		{`a = "\1x"`, `at 6: expected an octal digit, found "\\1x"`},
		{`a = "\400"`, `at 6: expected an octal escape up to \377, found "\\400"`},
		{`a = "\"`, `at 8: expected a string with a closing quote, found "\"\\\""`},
		{`a = "x\\" or b = "y"`, `at 19: expected "and", "or" or the end (the string before it ends here: a quote behind a backslash ends none; a last backslash is \u005c), found "y"`},
		{`host ~= "a(?=b)"`, `at 9: expected a regular expression, found the look-ahead "(?=", which RE2 can't run, at 2 of it`},
		{`host ~= "a{"`, `at 9: expected a regular expression, found a repeat that is not {n}, {n,} or {n,m} at 2 of it`},
		{`a ~= "\\p{` + strings.Repeat("x", 50) + `}"`, `at 6: expected a regular expression, found the unknown class "\p{` + strings.Repeat("x", 40) + `...}" at 1 of it`},
		{"a \xff", `at 3: expected "and", "or" or the end, found "\xff"`},
		{"a = " + strings.Repeat("=", 50), `at 5: expected a value or a field after "=", found "="`},
		{"a " + strings.Repeat("é", 50), `at 3: expected "and", "or" or the end, found "` + strings.Repeat("é", 40) + `"...`},
	} {
		_, err := Compile(row.text)
		var e *Error
		if !errors.As(err, &e) || err.Error() != "parse error: "+row.want {
			t.Errorf("%q:\n got %v\nwant parse error: %s", row.text, err, row.want)
		}
	}
}

// roundTrip checks that a query's text parses to the same tree again.
func roundTrip(t interface{ Errorf(string, ...any) }, tree predicate) {
	text := tree.String()
	again, err := parse(text)
	if err != nil {
		t.Errorf("%s became %q, which is an error: %v", dump(tree), text, err)
	} else if dump(again.tree) != dump(tree) {
		t.Errorf("%s became %q, which is %s", dump(tree), text, dump(again.tree))
	}
}

func TestStringIsTheInverseOfParse(t *testing.T) {
	for _, row := range oracleRows(t) {
		if p, err := parse(row.Query); err == nil {
			roundTrip(t, p.tree)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { roundTrip(rt, anyPredicate(3).Draw(rt, "query")) })
}

// TestLimits tries each limit below, at and above it.
func TestLimits(t *testing.T) {
	padded := func(n int) string { return "true" + strings.Repeat(" ", n-4) }
	terms := func(n int) string { return "a" + strings.Repeat(" or a", n-1) }
	steps := func(n int) string {
		return fmt.Sprintf(`a ~= "%s" or a ~= "%s"`, strings.Repeat("a", n-100), strings.Repeat("a", 100))
	}
	parens := func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	nots := func(n int) string { return strings.Repeat("not ", n) + "a" }
	mixed := func(n int) string { return strings.Repeat("not (", n/2) + "a" + strings.Repeat(")", n/2) }
	for _, row := range []struct {
		limit int
		text  func(n int) string
		want  string
	}{
		{MaxText, padded, "at 1: expected a query of at most 65536 bytes, found 65537 bytes"},
		{MaxTerms, terms, `at 20481: expected at most 4096 terms, found more`},
		{MaxSteps, steps, "at 9918: expected regular expressions of together at most 10000 steps, found more"},
		{MaxDepth, parens, `at 1001: expected at most 1000 levels of "(" and "not", found more`},
		{MaxDepth, nots, `at 4001: expected at most 1000 levels of "(" and "not", found more`},
		{MaxDepth, mixed, ""},
	} {
		for _, n := range []int{row.limit - 1, row.limit} {
			if _, err := Compile(row.text(n)); err != nil {
				t.Errorf("%d: %v", n, err)
			}
		}
		if row.want == "" {
			continue
		}
		if _, err := Compile(row.text(row.limit + 1)); err == nil || err.Error() != "parse error: "+row.want {
			t.Errorf("%d: %v, want %s", row.limit+1, err, row.want)
		}
	}
}

func TestMemoryOfAllRegexpsTogether(t *testing.T) {
	large := `a ~= "` + strings.Repeat(`\\p{L}`, 70) + `"`
	if _, err := Compile(large + " or " + large); err != nil {
		t.Error(err)
	}
	const want = "parse error: at 868: expected regular expressions that take together at most 4194304 bytes, found more"
	if _, err := Compile(large + " or " + large + " or " + large); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestDepthIsForTheWholeWay: groups beside each other are no depth.
func TestDepthIsForTheWholeWay(t *testing.T) {
	if _, err := Compile("(a)" + strings.Repeat(" and (not a)", MaxDepth+1)); err != nil {
		t.Error(err)
	}
}
