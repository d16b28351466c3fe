package riemann

// Fields is a set of an event's fields: those that the client set.
type Fields uint16

// The fields of an event. HasTags and HasAttributes mean at least one.
const (
	HasTime Fields = 1 << iota
	HasTimeMicros
	HasState
	HasService
	HasHost
	HasDescription
	HasTTL
	HasSint64
	HasD
	HasF
	HasTags
	HasAttributes

	// IsStored marks a view of the stored form: it has a time and a ttl even
	// where the client set none.
	IsStored
)

// AllFields is every field of an event.
const AllFields = HasAttributes<<1 - 1

const (
	metricKinds = HasSint64 | HasD | HasF
	timeKinds   = HasTime | HasTimeMicros
)

// Protobuf's wire types.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireGroup   = 3
	wireEnd     = 4
	wireFixed32 = 5
)

// The tags (field number and wire type) of an Event's fields. All take one
// byte in their shortest form, the only one that is ever written here.
const (
	tagTime        = 1<<3 | wireVarint
	tagState       = 2<<3 | wireBytes
	tagService     = 3<<3 | wireBytes
	tagHost        = 4<<3 | wireBytes
	tagDescription = 5<<3 | wireBytes
	tagTags        = 7<<3 | wireBytes
	tagTTL         = 8<<3 | wireFixed32
	tagAttributes  = 9<<3 | wireBytes
	tagTimeMicros  = 10<<3 | wireVarint
	tagSint64      = 13<<3 | wireVarint
	tagD           = 14<<3 | wireFixed64
	tagF           = 15<<3 | wireFixed32
)

// The tags of an Attribute's fields.
const (
	tagKey   = 1<<3 | wireBytes
	tagValue = 2<<3 | wireBytes
)

// The tags of a Msg's fields, and of the one field of its Query.
const (
	tagOK     = 2<<3 | wireVarint
	tagError  = 3<<3 | wireBytes
	tagStates = 4<<3 | wireBytes
	tagQuery  = 5<<3 | wireBytes
	tagEvents = 6<<3 | wireBytes
	tagString = 1<<3 | wireBytes
)

// fieldBits says which field of an Event a tag is of.
var fieldBits = [128]Fields{
	tagTime: HasTime, tagTimeMicros: HasTimeMicros,
	tagState: HasState, tagService: HasService, tagHost: HasHost, tagDescription: HasDescription,
	tagTTL: HasTTL, tagSint64: HasSint64, tagD: HasD, tagF: HasF,
	tagTags: HasTags, tagAttributes: HasAttributes,
}

// fieldOf is the field of an Event with this tag; 0 if it has none such.
func fieldOf(tag uint64) Fields {
	if tag >= uint64(len(fieldBits)) {
		return 0
	}
	return fieldBits[tag]
}

// IsCoreField reports whether name is a field that every event has by itself.
// An attribute of such a name never stands for the field.
func IsCoreField(name string) bool {
	switch name {
	case "host", "service", "state", "description", "metric", "tags", "time", "ttl":
		return true
	}
	return false
}
