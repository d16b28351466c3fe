package javare

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// scriptCode is a script by its four letters, which Go's tables don't have.
var scriptCode = regexp.MustCompile(`^(Is|sc=|script=|SC=|SCRIPT=)[A-Za-z]{4}$`)

// property reads what stands behind \p or \P: a letter, or a name in braces.
func (p *parser) property(at int) set {
	name := string(p.look(0))
	p.pos++
	if name == "{" {
		start := p.pos
		for p.look(0) != '}' {
			if p.look(0) == eof {
				p.fail(at, `"\p{" without its "}"`)
			}
			p.pos++
		}
		name = string(p.pattern[start:p.pos])
		p.pos++
	}
	s, ok := p.named(at, name)
	if code := name[max(len(name)-4, 0):]; !ok && scriptCode.MatchString(name) {
		p.fail(at, fmt.Sprintf("the script code %q, which is not known here (write the script's name),", code))
	}
	if !ok {
		p.fail(at, fmt.Sprintf(`the unknown class "\p{%s}"`, short(name)))
	}
	p.countRanges(at, s)
	return s
}

// named looks a property up in the order of Java.
func (p *parser) named(at int, name string) (s set, ok bool) {
	if key, value, found := strings.Cut(name, "="); found {
		switch strings.ToLower(key) {
		case "sc", "script":
			return script(value)
		case "gc", "general_category":
			return p.category(value)
		case "blk", "block":
			p.refuse(at, fmt.Sprintf(`the Unicode block "%s"`, short(value)))
		}
		return nil, false
	}
	if block, found := strings.CutPrefix(name, "In"); found {
		p.refuse(at, fmt.Sprintf(`the Unicode block "%s"`, short(block)))
	}
	if short, found := strings.CutPrefix(name, "Is"); found {
		if s, ok = p.binary(at, short); ok {
			return s, ok
		}
		if s, ok = p.plain(at, short); ok {
			return s, ok
		}
		return script(short)
	}
	if _, ok = posix[name]; ok && name != "Word" && p.flags.unicodeClass {
		return p.bothCases(name, unicodePOSIX(name)), true
	}
	return p.plain(at, name)
}

// plain is a POSIX class, one of java.lang.Character, or a category.
func (p *parser) plain(at int, name string) (set, bool) {
	if s, ok := posix[name]; ok && name != "Word" {
		return p.bothCases(name, s), true
	}
	if name == "javaMirrored" {
		p.refuse(at, `the class "javaMirrored"`)
	}
	if s, ok := javaMethod(name); ok {
		return p.bothCases(name, s), true
	}
	return p.category(name)
}

// binary is a Unicode property by its name behind "Is".
func (p *parser) binary(at int, name string) (set, bool) {
	name = strings.ToUpper(name)
	if strings.HasPrefix(name, "EMOJI") || name == "EXTENDED_PICTOGRAPHIC" {
		p.refuse(at, fmt.Sprintf(`the class "%s"`, short(name)))
	}
	switch name {
	case "WHITESPACE", "WHITE_SPACE":
		name = "SPACE"
	case "HEXDIGIT", "HEX_DIGIT":
		name = "XDIGIT"
	case "PUNCTUATION":
		name = "PUNCT"
	case "CONTROL":
		name = "CNTRL"
	case "ALPHABETIC":
		name = "ALPHA"
	case "LOWERCASE":
		name = "LOWER"
	case "UPPERCASE":
		name = "UPPER"
	}
	for long := range posix {
		if strings.ToUpper(long) == name {
			return p.bothCases(long, unicodePOSIX(long)), true
		}
	}
	switch name {
	case "LETTER":
		return fromTables(unicode.L), true
	case "IDEOGRAPHIC":
		return fromTables(unicode.Ideographic), true
	case "TITLECASE":
		return p.bothCases("javaTitleCase", fromTables(unicode.Lt)), true
	case "ASSIGNED":
		return fromTables(unicode.Categories["Cn"]).not(), true
	case "NONCHARACTER_CODE_POINT", "NONCHARACTERCODEPOINT":
		return fromTables(unicode.Noncharacter_Code_Point), true
	case "JOIN_CONTROL", "JOINCONTROL":
		return fromTables(unicode.Join_Control), true
	}
	return nil, false
}

// category is a general category, or one of Java's own names beside them.
func (p *parser) category(name string) (set, bool) {
	switch name {
	case "LD":
		return fromTables(unicode.L, unicode.Nd), true
	case "L1":
		return set{{0, 0xFF}}, true
	case "all":
		return everything, true
	case "LC":
		return fromTables(unicode.Lu, unicode.Ll, unicode.Lt), true
	}
	table, ok := unicode.Categories[name]
	if !ok {
		return nil, false
	}
	return p.bothCases(name, fromTables(table)), true
}

// bothCases widens the classes of one case to all cases, if (?i) is on.
func (p *parser) bothCases(name string, s set) set {
	if !p.flags.fold {
		return s
	}
	switch name {
	case "Lower", "Upper":
		if p.flags.unicodeClass || len(s) > 1 {
			return union(unicodePOSIX("Lower"), unicodePOSIX("Upper"), fromTables(unicode.Lt))
		}
		return posix["Alpha"]
	case "javaLowerCase", "javaUpperCase", "javaTitleCase":
		return union(unicodePOSIX("Lower"), unicodePOSIX("Upper"), fromTables(unicode.Lt))
	case "Lu", "Ll", "Lt":
		return fromTables(unicode.Lu, unicode.Ll, unicode.Lt)
	}
	return s
}

// script is a Unicode script by its name in any case.
func script(name string) (set, bool) {
	for full, table := range unicode.Scripts {
		if strings.EqualFold(full, name) {
			return fromTables(table), true
		}
	}
	return nil, false
}
