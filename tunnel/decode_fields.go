package tunnel

import "encoding/json"

// fields holds the values of a frame's known keys until the kind is known. Its
// readers check one field each; after the first failure they do nothing, so
// that the failure that is reported is the one that upstream reports.
type fields struct {
	values [numKeys + 1]value // by keyIndex; the last of a key that stands twice
	kind   Kind
	err    *FrameError
	lone   string // key of a string with a lone surrogate: an error only if there is no other
}

// numKeys is how many keys the frames of all kinds have together.
const numKeys = 29

// keyIndex returns the place of a known key in fields, and 0 for another.
func keyIndex(key string) int {
	switch key {
	case "kind":
		return 1
	case "id":
		return 2
	case "ch_id":
		return 3
	case "body":
		return 4
	case "data":
		return 5
	case "encoding":
		return 6
	case "method":
		return 7
	case "path":
		return 8
	case "query_string":
		return 9
	case "headers":
		return 10
	case "stream":
		return 11
	case "status":
		return 12
	case "error":
		return 13
	case "reason":
		return 14
	case "ts":
		return 15
	case "code":
		return 16
	case "session_id":
		return 17
	case "events":
		return 18
	case "applied":
		return 19
	case "retryable":
		return 20
	case "runner_version":
		return 21
	case "frame_protocol_version":
		return 22
	case "harnesses":
		return 23
	case "envs":
		return 24
	case "telemetry_opt_out":
		return 25
	case "capabilities":
		return 26
	case "connection_id":
		return 27
	case "direct_attach_port":
		return 28
	case "direct_attach_token":
		return numKeys
	}
	return 0
}

// scan checks the whole text and notes the known keys. The values alias data.
func (f *fields) scan(data []byte) error {
	s := scanner{data: data}
	if err := s.validText(); err != nil {
		return notJSON(err)
	}
	if s.peek() != '{' {
		root, err := s.value()
		if err == nil {
			err = s.end()
		}
		if err != nil {
			return notJSON(err)
		}
		return &FrameError{Reason: "frame must be a JSON object, got " + root.typ.String()}
	}
	err := s.object(func(key, member value) {
		switch {
		case key.size == len(key.text):
			f.values[keyIndex(string(key.text))] = member
		case key.size != loneSurrogate:
			f.values[keyIndex(key.unescape())] = member
		}
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return notJSON(err)
	}
	return nil
}

// smallList is the room made for a list before its length is known.
const smallList = 16

func notJSON(err error) *FrameError {
	return &FrameError{Reason: "frame is not valid JSON: " + err.Error()}
}

func (f *fields) get(key string) value { return f.values[keyIndex(key)] }

func (f *fields) fail(reason string) {
	if f.err == nil {
		f.err = &FrameError{Kind: f.kind, Reason: reason}
	}
}

// failField reports that the value of key is not what is wanted there.
func (f *fields) failField(want, key string) {
	f.fail(string(f.kind) + " frame: " + want + ": '" + key + "', got " + f.get(key).typ.String())
}

// text returns the string of a string value.
func (f *fields) text(key string, v value) string {
	switch {
	case f.err != nil:
		return ""
	case v.size == loneSurrogate:
		f.lone = key
		return ""
	case v.is(EncodingUTF8): // spare the allocation for what most frames have
		return EncodingUTF8
	case v.is(EncodingBase64):
		return EncodingBase64
	}
	return v.unescape()
}

// str reads a required string.
func (f *fields) str(key string) string {
	v := f.get(key)
	if v.typ != typeString {
		f.failField("missing required string field", key)
		return ""
	}
	return f.text(key, v)
}

// optStr reads a string that may be absent.
func (f *fields) optStr(key, absent string) string {
	switch v := f.get(key); v.typ {
	case typeAbsent:
		return absent
	case typeString:
		return f.text(key, v)
	}
	f.failField("field must be a string", key)
	return ""
}

// strOrNull reads a string that may be absent or null, which are the same.
func (f *fields) strOrNull(key string) *string {
	switch v := f.get(key); v.typ {
	case typeAbsent, typeNull:
		return nil
	case typeString:
		s := f.text(key, v)
		return &s
	}
	f.failField("field must be a string or null", key)
	return nil
}

// int reads a required integer.
func (f *fields) int(key string) Int {
	v := f.get(key)
	if v.typ != typeInt {
		f.failField("missing required int field", key)
		return Int{}
	}
	return parseInt(v.text)
}

// nonnegative reads a required integer that is not negative.
func (f *fields) nonnegative(key string) Int {
	n := f.int(key)
	if n.negative() {
		f.fail(string(f.kind) + " " + key + " must be nonnegative")
	}
	return n
}

// optInt reads an integer that may be absent.
func (f *fields) optInt(key string, absent int64) Int {
	switch v := f.get(key); v.typ {
	case typeAbsent:
		return IntOf(absent)
	case typeInt:
		return parseInt(v.text)
	}
	f.failField("field must be an integer", key)
	return Int{}
}

// optBool reads a boolean that may be absent, which is false.
func (f *fields) optBool(key string) bool {
	switch v := f.get(key); v.typ {
	case typeAbsent:
		return false
	case typeBool:
		return v.text[0] == 't'
	}
	f.failField("field must be a boolean", key)
	return false
}

// strs reads a list of strings that may be absent, which is empty.
func (f *fields) strs(key string) []string {
	if f.err != nil || f.get(key).typ == typeAbsent {
		return nil
	}
	list := make([]string, 0, smallList)
	ok := f.get(key).each(func(v value) bool {
		if v.typ != typeString {
			return false
		}
		list = append(list, f.text(key, v))
		return true
	})
	if !ok {
		f.failField("field must be a list of strings", key)
	}
	return list
}

// headers reads a list of header pairs that may be absent, which is empty.
func (f *fields) headers(key string) []Header {
	if f.err != nil || f.get(key).typ == typeAbsent {
		return nil
	}
	list := make([]Header, 0, smallList)
	ok := f.get(key).each(func(pair value) bool {
		var h Header
		n := 0
		ok := pair.each(func(v value) bool {
			if v.typ != typeString || n == len(h) {
				return false
			}
			h[n] = f.text(key, v)
			n++
			return true
		})
		list = append(list, h)
		return ok && n == len(h)
	})
	if !ok {
		f.failField("field must be a list of header pairs", key)
	}
	return list
}

// events reads the events of a batch: at least one, each kept as it stands.
func (f *fields) events(key string) []json.RawMessage {
	if f.err != nil {
		return nil
	}
	list := make([]json.RawMessage, 0, smallList)
	ok := f.get(key).each(func(event value) bool {
		list = append(list, json.RawMessage(event.text))
		return event.member("type").typ == typeString
	})
	if !ok || len(list) == 0 {
		f.fail("event.batch requires a nonempty event array with string types")
		return nil
	}
	// One copy for all: until here the events alias the message.
	size := 0
	for _, event := range list {
		size += len(event)
	}
	all := make([]byte, 0, size)
	for i, event := range list {
		start := len(all)
		all = append(all, event...)
		list[i] = all[start:len(all):len(all)]
	}
	return list
}
