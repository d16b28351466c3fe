package riemann

// Attribute is a view of one attribute. Value is empty if the client set none,
// as protobuf has it.
type Attribute struct {
	Key, Value []byte
}

// walk makes a the view of b, an Attribute's wire bytes, or returns the place
// and the problem of what is wrong.
func (a *Attribute) walk(b []byte) (at int, why problem) {
	*a = Attribute{}
	for i := 0; i < len(b); {
		tag, value, next := nextField(b, i)
		if next < 0 {
			return i, problem(-next)
		}
		switch tag {
		case tagKey:
			a.Key = b[value:next:next]
		case tagValue:
			a.Value = b[value:next:next]
		}
		i = next
	}
	if a.Key == nil {
		return 0, keyMissing
	}
	return 0, 0
}

// plainAttribute reports whether b, of less than 128 bytes, is a key and a value
// in this order, as nearly all attributes are. A length of more than one byte
// would look like one that runs past b's end.
func plainAttribute(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	v := int(b[1]) + 3 // where the value's length stands
	return b[0] == tagKey && v < len(b) && b[v-1] == tagValue && v+1+int(b[v]) == len(b)
}

// Tags iterates over an event's tags:
//
//	for it := e.Tags(); it.Next(); {
//		use(it.Tag)
//	}
type Tags struct {
	Tag     []byte // the tag at hand, part of the event's Raw
	b       []byte
	at, end int
}

// Tags returns an iterator over e's tags, in their order.
func (e *Event) Tags() Tags {
	return Tags{b: e.Raw, at: int(e.tags.at), end: int(e.tags.end)}
}

// TagFields is the piece of e's Raw from the first tag's field to behind the last one's:
// fields of the event, all its tags among them. It is empty if e has none.
func (e *Event) TagFields() Span { return Span{Off: e.tags.at, Len: e.tags.end - e.tags.at} }

// Next goes to the next tag and reports whether there is one.
func (t *Tags) Next() bool {
	t.Tag, t.at = nextOf(t.b, t.at, t.end, tagTags)
	return t.Tag != nil
}

// Tagged reports whether e has this tag.
func (e *Event) Tagged(tag string) bool {
	for it := e.Tags(); it.Next(); {
		if string(it.Tag) == tag {
			return true
		}
	}
	return false
}

// Attributes iterates over an event's attributes, as Tags does over its tags.
// One whose key is a core field's name (IsCoreField) comes up as well: whoever
// shows attributes beside the fields must leave it out.
type Attributes struct {
	Attribute
	b       []byte
	at, end int
}

// Attributes returns an iterator over e's attributes, in their order.
func (e *Event) Attributes() Attributes {
	return Attributes{b: e.Raw, at: int(e.attrs.at), end: int(e.attrs.end)}
}

// Next goes to the next attribute and reports whether there is one.
func (a *Attributes) Next() bool {
	var raw []byte
	raw, a.at = nextOf(a.b, a.at, a.end, tagAttributes)
	if raw == nil {
		return false
	}
	a.walk(raw)
	return true
}

// Attribute is the value of the attribute with this key, the last one if
// there are several, and whether there is one. An attribute never stands for a
// core field (IsCoreField): such keys are never found.
func (e *Event) Attribute(key string) (value []byte, ok bool) {
	if e.Set&HasAttributes == 0 || IsCoreField(key) {
		return nil, false
	}
	for it := e.Attributes(); it.Next(); {
		if string(it.Key) == key {
			value, ok = it.Value, true
		}
	}
	return value, ok
}

// nextOf finds the first field with this tag in b[i:end], bytes that were
// walked before, and returns its value and the index behind it; nil if there
// is none.
func nextOf(b []byte, i, end int, want uint64) (value []byte, next int) {
	for i < end {
		tag, value, next := nextField(b, i)
		if next < 0 {
			panic("BUG: an event's wire bytes changed under its view")
		}
		if tag == want {
			return b[value:next:next], next
		}
		i = next
	}
	return nil, end
}
