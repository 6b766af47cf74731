package terminal

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
)

// maxTypists bounds the viewers of one terminal whose keys are counted.
const maxTypists = 64

// typistID is how a viewer names itself.
var typistID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// typist counts what one viewer has typed, over its connections, so that keys
// that were on their way when a line was cut are neither lost nor typed twice.
// The viewer says who it is after each time that it connects, and before it
// types ({"type":"typist","id":"<32 hex digits>"}); it is told how many of its
// bytes arrived, then and after each key ({"type":"typed","bytes":n}), and sends
// the others again. A viewer that does not name itself is told nothing.
//
// The count is lost with the runner. The terminal's lock guards it.
type typist struct {
	id    string
	bytes int64
	by    *viewer // its newest connection; an older one types nothing any more
}

// readTypist reads who a viewer says that it is.
func readTypist(text []byte) (id string, ok bool) {
	var m struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
	if json.Unmarshal(text, &m) != nil || m.Type != "typist" || !typistID.MatchString(m.ID) {
		return "", false
	}
	return m.ID, true
}

// named takes who a viewer is, and owes it the count. It needs the lock.
func (t *terminal) named(v *viewer, id string) {
	at := slices.IndexFunc(t.typists, func(c *typist) bool { return c.id == id })
	count := &typist{id: id}
	if at >= 0 {
		count = t.typists[at]
		t.typists = slices.Delete(t.typists, at, at+1)
	} else if len(t.typists) == maxTypists {
		t.typists = slices.Delete(t.typists, 0, 1) // who has not come back for the longest time
	}
	t.typists = append(t.typists, count)
	count.by, v.count = v, count
	v.owe()
}

// counts takes bytes of a viewer into its count, or out of it again if they are
// negative. false: it has come back by another connection, and will send them
// there. It needs the lock.
func (v *viewer) counts(bytes int) bool {
	switch {
	case v.count == nil:
		return true
	case v.count.by != v:
		return false
	}
	v.count.bytes += int64(bytes)
	v.owe()
	return true
}

func (v *viewer) owe() {
	v.owed = true
	signal(v.wake)
}

// owes returns the count that is owed. It needs the lock.
func (v *viewer) owes() []message {
	if !v.owed {
		return nil
	}
	v.owed = false
	return []message{{data: []byte(`{"type":"typed","bytes":` + strconv.FormatInt(v.count.bytes, 10) + `}`), text: true}}
}
