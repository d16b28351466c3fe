package series

// Problem is why a line brings no point.
type Problem uint8

const (
	// None: it does.
	None Problem = iota
	// NoPoint: nothing is wrong, but there is none, such as in a blank line.
	NoPoint
	// TooLong: the line is over the limit.
	TooLong
	// NotText: there are control characters in it, or bytes that are no UTF-8.
	NotText
	// Fields: there are fewer or more of them than there should be.
	Fields
	// BadName: the series has no name.
	BadName
	// BadTag: a tag is not of the form key=value, with a key.
	BadTag
	// BadValue: the value is no number.
	BadValue
	// NotFinite: the value is a NaN or an infinity.
	NotFinite
	// BadTime: the time is no number, or one that is neither in seconds nor in milliseconds.
	BadTime
	// Unknown: it is a command that is not known.
	Unknown
	// Broken: our own code failed at it.
	Broken
	// Problems is their number.
	Problems = iota
)

var problemTexts = [Problems]string{
	None: "none", NoPoint: "no point", TooLong: "too long", NotText: "not text", Fields: "number of fields",
	BadName: "no name", BadTag: "tag", BadValue: "value", NotFinite: "value not finite", BadTime: "time",
	Unknown: "unknown command", Broken: "panic",
}

// String names the problem in a few words.
func (p Problem) String() string { return problemTexts[p] }
