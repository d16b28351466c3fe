package javare

import (
	"sync"
	"unicode"
)

// Java's spaces.
var (
	horizontalSpace = union(runesOf('\t', ' ', 0xA0, 0x1680, 0x180E, 0x202F, 0x205F, 0x3000), set{{0x2000, 0x200A}})
	verticalSpace   = union(set{{'\n', '\r'}}, runesOf(0x85, 0x2028, 0x2029))
)

// posix are the POSIX classes and those of \d, \s and \w: ASCII, unless (?U) is on.
var posix = map[string]set{
	"ASCII":  {{0, 0x7F}},
	"Lower":  {{'a', 'z'}},
	"Upper":  {{'A', 'Z'}},
	"Alpha":  {{'A', 'Z'}, {'a', 'z'}},
	"Digit":  {{'0', '9'}},
	"Alnum":  {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
	"Punct":  {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}},
	"Graph":  {{'!', '~'}},
	"Print":  {{' ', '~'}},
	"Blank":  {{'\t', '\t'}, {' ', ' '}},
	"Cntrl":  {{0, 0x1F}, {0x7F, 0x7F}},
	"XDigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
	"Space":  {{'\t', '\r'}, {' ', ' '}},
	"Word":   {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
}

// unicodePOSIX is the class of that name with (?U), and behind "Is".
func unicodePOSIX(name string) set { return unicodeClasses()[name] }

var unicodeClasses = sync.OnceValue(func() map[string]set {
	alpha := fromTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic)
	digit := fromTables(unicode.Nd)
	space := fromTables(unicode.White_Space)
	control := fromTables(unicode.Cc)
	blank := union(fromTables(unicode.Zs), runesOf('\t'))
	graph := union(space, fromTables(unicode.Z, unicode.Cc, unicode.Cs, unicode.Categories["Cn"])).not()
	return map[string]set{
		"ASCII":  posix["ASCII"],
		"Lower":  fromTables(unicode.Ll, unicode.Other_Lowercase),
		"Upper":  fromTables(unicode.Lu, unicode.Other_Uppercase),
		"Alpha":  alpha,
		"Digit":  digit,
		"Alnum":  union(alpha, digit),
		"Punct":  fromTables(unicode.P),
		"Graph":  graph,
		"Print":  union(graph, blank).without(control),
		"Blank":  blank,
		"Cntrl":  control,
		"XDigit": union(digit, fromTables(unicode.Hex_Digit)),
		"Space":  space,
		"Word": union(alpha, digit,
			fromTables(unicode.M, unicode.Pc, unicode.Join_Control)),
	}
})

// javaMethod is a class that is named for a method of java.lang.Character:
// "javaDigit" for isDigit.
func javaMethod(name string) (set, bool) {
	switch name {
	case "javaLowerCase":
		return unicodePOSIX("Lower"), true
	case "javaUpperCase":
		return unicodePOSIX("Upper"), true
	case "javaAlphabetic":
		return unicodePOSIX("Alpha"), true
	case "javaIdeographic":
		return fromTables(unicode.Ideographic), true
	case "javaTitleCase":
		return fromTables(unicode.Lt), true
	case "javaDigit":
		return unicodePOSIX("Digit"), true
	case "javaDefined":
		return fromTables(unicode.Categories["Cn"]).not(), true
	case "javaLetter":
		return fromTables(unicode.L), true
	case "javaLetterOrDigit":
		return fromTables(unicode.L, unicode.Nd), true
	case "javaSpaceChar":
		return fromTables(unicode.Z), true
	case "javaWhitespace":
		return union(fromTables(unicode.Z).without(runesOf(0xA0, 0x2007, 0x202F)), set{{9, 0xD}, {0x1C, 0x1F}}), true
	case "javaISOControl":
		return set{{0, 0x1F}, {0x7F, 0x9F}}, true
	case "javaIdentifierIgnorable":
		return identifierIgnorable(), true
	case "javaJavaIdentifierStart":
		return fromTables(unicode.L, unicode.Nl, unicode.Sc, unicode.Pc), true
	case "javaJavaIdentifierPart":
		return union(identifierIgnorable(),
			fromTables(unicode.L, unicode.Nl, unicode.Sc, unicode.Pc, unicode.Nd, unicode.Mc, unicode.Mn)), true
	case "javaUnicodeIdentifierStart":
		return fromTables(unicode.L, unicode.Nl, unicode.Other_ID_Start), true
	case "javaUnicodeIdentifierPart":
		return union(identifierIgnorable(),
			fromTables(unicode.L, unicode.Nl, unicode.Other_ID_Start, unicode.Pc, unicode.Nd, unicode.Mc, unicode.Mn,
				unicode.Other_ID_Continue)), true
	}
	return nil, false
}

func identifierIgnorable() set {
	return union(set{{0, 8}, {0xE, 0x1B}, {0x7F, 0x9F}}, fromTables(unicode.Cf))
}
