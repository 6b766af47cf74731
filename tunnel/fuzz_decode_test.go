package tunnel

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzDecode holds Decode against naiveDecode: the same messages are frames,
// with the same fields, and the others fail for the same reason.
func FuzzDecode(f *testing.F) {
	for _, g := range goldenFrames(f) {
		f.Add([]byte(g.Wire))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, data) })
}

// checkDecode fails t where Decode(data) is not what naiveDecode says, or
// where the frame does not survive Append.
func checkDecode(t require.TestingT, data []byte) {
	want, wantErr := naiveDecode(data)
	message := bytes.Clone(data)
	frame, err := Decode(message)
	require.Equal(t, data, message, "the message is not written to")
	if wantErr != nil {
		require.Nil(t, frame)
		reason := wantErr.Error()
		if strings.HasPrefix(reason, "not valid JSON") {
			reason = "not valid JSON" // the details are the library's own
		}
		require.ErrorContains(t, err, reason)
		require.True(t, utf8.ValidString(err.Error()), "%q", err)
		require.Less(t, len(err.Error()), 400)
		return
	}
	require.NoError(t, err)
	// The frame may share nothing with the message: a reader uses its buffer again.
	clear(message)
	require.Equal(t, parse(t, marshal(t, want)), parse(t, plainFields(t, frame)))

	again, err := Decode(Append(nil, frame))
	require.NoError(t, err)
	require.Equal(t, parse(t, plainFields(t, written(frame))), parse(t, plainFields(t, again)))

	kind, id := FrameID(data)
	require.Equal(t, frame.Kind(), kind)
	fields := everyField(frame)
	if want, ok := fields["id"]; ok {
		require.Equal(t, want, id)
	} else if want, ok := fields["ch_id"]; ok {
		require.Equal(t, want, id)
	}
}

// plainFields returns the fields as JSON text that the standard library reads.
func plainFields(t require.TestingT, frame Frame) []byte {
	if batch, ok := frame.(EventBatch); ok {
		events := make([]json.RawMessage, len(batch.Events))
		for i, event := range batch.Events {
			events[i] = withoutNaN(event)
		}
		batch.Events = events
		frame = batch
	}
	return marshal(t, everyField(frame))
}

// written returns what Append makes of a frame: no encoding is text.
func written(frame Frame) Frame {
	switch f := frame.(type) {
	case Request:
		f.Encoding = encodingOr(f.Encoding)
		return f
	case ResponseBody:
		f.Encoding = encodingOr(f.Encoding)
		return f
	case WSFrame:
		f.Encoding = encodingOr(f.Encoding)
		return f
	}
	return frame
}
