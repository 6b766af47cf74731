package tunnel

import (
	"encoding/json"
	"fmt"
)

// Append appends f to dst as one JSON object, the text of one message
// (tunnel.md 4), and returns the longer slice. It writes what upstream's
// encoder writes, field for field, but as raw UTF-8 without spaces; a nil list
// is written as an empty one. It cannot fail, so the caller sees to this:
//
//   - A string must be valid UTF-8; EncodeBody makes it so for a body. A byte
//     that is not is never replaced: it is written as the lone surrogate
//     escape \udcNN, which costs this one frame at the receiver. Raw, it would
//     cost the whole tunnel (close 1007).
//   - Events must hold at least one event, each the JSON text of an object
//     with a string "type". They are copied as they stand.
//
// A Frame that is not a value of one of this package's types is a programming
// error and panics.
func Append(dst []byte, f Frame) []byte {
	w := objectWriter{buf: append(append(dst, `{"kind":"`...), f.Kind()...)}
	w.buf = append(w.buf, '"')
	switch f := f.(type) {
	case Hello:
		w.hello(f)
	case Request:
		w.str("id", f.ID)
		w.str("method", f.Method)
		w.str("path", f.Path)
		w.str("query_string", f.QueryString)
		w.headers("headers", f.Headers)
		w.optStr("body", f.Body)
		w.str("encoding", encodingOr(f.Encoding))
		w.bool("stream", f.Stream)
	case ResponseHead:
		w.str("id", f.ID)
		w.int("status", f.Status)
		w.headers("headers", f.Headers)
	case ResponseBody:
		w.str("id", f.ID)
		w.str("body", f.Body)
		w.str("encoding", encodingOr(f.Encoding))
	case ResponseEnd:
		w.str("id", f.ID)
		if f.Error != nil {
			w.str("error", *f.Error)
		}
	case RequestCancel:
		w.str("id", f.ID)
		w.str("reason", f.Reason)
	case Ping:
		w.int("ts", f.TS)
	case Pong:
		w.int("ts", f.TS)
	case WSOpen:
		w.str("ch_id", f.ChID)
		w.str("path", f.Path)
		w.str("query_string", f.QueryString)
	case WSFrame:
		w.str("ch_id", f.ChID)
		w.str("data", f.Data)
		w.str("encoding", encodingOr(f.Encoding))
	case WSClose:
		w.str("ch_id", f.ChID)
		w.int("code", f.Code)
		w.str("reason", f.Reason)
	case EventReady:
	case EventBatch:
		w.str("id", f.ID)
		w.str("session_id", f.SessionID)
		w.raws("events", f.Events)
	case EventAck:
		w.str("id", f.ID)
		w.int("applied", f.Applied)
		w.optStr("error", f.Error)
		w.bool("retryable", f.Retryable)
	default:
		panic(fmt.Sprintf("tunnel: appending a frame of foreign type %T", f))
	}
	return append(w.buf, '}')
}

// encodingOr returns the encoding to write: a frame made by hand may leave
// out that its body is text.
func encodingOr(encoding string) string {
	if encoding == "" {
		return EncodingUTF8
	}
	return encoding
}

// hello omits what an old or unaware server must not see: null and empty
// additions (tunnel.md 4, 5).
func (w *objectWriter) hello(f Hello) {
	w.str("runner_version", f.RunnerVersion)
	w.int("frame_protocol_version", f.FrameProtocolVersion)
	w.strs("harnesses", f.Harnesses)
	w.strs("envs", f.Envs)
	w.bool("telemetry_opt_out", f.TelemetryOptOut)
	if len(f.Capabilities) > 0 {
		w.strs("capabilities", f.Capabilities)
	}
	if f.ConnectionID != "" {
		w.str("connection_id", f.ConnectionID)
	}
	if f.DirectAttachPort != nil && f.DirectAttachToken != "" {
		w.int("direct_attach_port", *f.DirectAttachPort)
		w.str("direct_attach_token", f.DirectAttachToken)
	}
}

// objectWriter appends the members of a JSON object that has one already.
type objectWriter struct{ buf []byte }

func (w *objectWriter) key(name string) {
	w.buf = append(append(append(w.buf, ',', '"'), name...), '"', ':')
}

func (w *objectWriter) str(name, s string) {
	w.key(name)
	w.buf = appendString(w.buf, s)
}

func (w *objectWriter) optStr(name string, s *string) {
	if s != nil {
		w.str(name, *s)
		return
	}
	w.key(name)
	w.buf = append(w.buf, "null"...)
}

func (w *objectWriter) int(name string, n Int) {
	w.key(name)
	w.buf = n.append(w.buf)
}

func (w *objectWriter) bool(name string, b bool) {
	w.key(name)
	if b {
		w.buf = append(w.buf, "true"...)
	} else {
		w.buf = append(w.buf, "false"...)
	}
}

func (w *objectWriter) strs(name string, list []string) {
	w.key(name)
	w.buf = append(w.buf, '[')
	for i, s := range list {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendString(w.buf, s)
	}
	w.buf = append(w.buf, ']')
}

func (w *objectWriter) headers(name string, list []Header) {
	w.key(name)
	w.buf = append(w.buf, '[')
	for i, h := range list {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendString(append(w.buf, '['), h[0])
		w.buf = appendString(append(w.buf, ','), h[1])
		w.buf = append(w.buf, ']')
	}
	w.buf = append(w.buf, ']')
}

func (w *objectWriter) raws(name string, list []json.RawMessage) {
	w.key(name)
	w.buf = append(w.buf, '[')
	for i, raw := range list {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = append(w.buf, raw...)
	}
	w.buf = append(w.buf, ']')
}
