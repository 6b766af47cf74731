package tunnel

import "strconv"

// FrameError is the error of Decode: a message that is no frame. Upstream logs
// and skips such a message, it never ends the tunnel (tunnel.md 4).
type FrameError struct {
	Kind   Kind   // of the frame, when it is a known one whose fields are wrong
	Reason string // has the words of upstream's message; safe to log
}

// Error returns the reason.
func (e *FrameError) Error() string { return e.Reason }

// Decode reads one message (tunnel.md 4). It takes what upstream takes and
// rejects what upstream rejects, with three limits of its own: the text must
// be valid UTF-8, nest at most 3000 levels, and a string that a frame keeps
// must not have a lone surrogate escape (\ud800), which upstream only notices
// later. The error is a *FrameError. The frame shares no memory with data.
func Decode(data []byte) (Frame, error) {
	f := fields{}
	if err := f.scan(data); err != nil {
		return nil, err
	}
	frame := f.frame()
	if f.lone != "" {
		f.fail(string(f.kind) + " frame: lone surrogate escape in string: '" + f.lone + "'")
	}
	if f.err != nil {
		return nil, f.err
	}
	return frame, nil
}

// FrameID returns the kind and the id (the ch_id of a ws.* frame) of a message
// that Decode rejected, so that a request can be refused and a stream ended by
// its id. It is a best effort: "" is what could not be read before the error.
func FrameID(data []byte) (kind Kind, id string) {
	f := fields{}
	_ = f.scan(data) // the caller has the error from Decode already
	if v := f.get("kind"); v.typ == typeString && v.size != loneSurrogate {
		kind = Kind(v.unescape())
	}
	key := "id"
	switch kind {
	case KindWSOpen, KindWSFrame, KindWSClose:
		key = "ch_id"
	}
	if v := f.get(key); v.typ == typeString && v.size != loneSurrogate {
		id = v.unescape()
	}
	return kind, id
}

// frame reads the fields that the kind has, in the order in which upstream
// checks them: Go evaluates the calls of a composite literal as they stand.
func (f *fields) frame() Frame {
	switch f.kind = f.frameKind(); f.kind {
	case KindHello:
		return f.hello()
	case KindRequest:
		return Request{
			ID:          f.str("id"),
			Method:      f.str("method"),
			Path:        f.str("path"),
			QueryString: f.optStr("query_string", ""),
			Headers:     f.headers("headers"),
			Body:        f.strOrNull("body"),
			Encoding:    f.optStr("encoding", EncodingUTF8),
			Stream:      f.optBool("stream"),
		}
	case KindResponseHead:
		return ResponseHead{ID: f.str("id"), Status: f.int("status"), Headers: f.headers("headers")}
	case KindResponseBody:
		return ResponseBody{ID: f.str("id"), Body: f.str("body"), Encoding: f.optStr("encoding", EncodingUTF8)}
	case KindResponseEnd:
		return f.responseEnd()
	case KindRequestCancel:
		return RequestCancel{ID: f.str("id"), Reason: f.optStr("reason", defaultCancelReason)}
	case KindPing:
		return Ping{TS: f.int("ts")}
	case KindPong:
		return Pong{TS: f.int("ts")}
	case KindWSOpen:
		return WSOpen{ChID: f.str("ch_id"), Path: f.str("path"), QueryString: f.optStr("query_string", "")}
	case KindWSFrame:
		return WSFrame{ChID: f.str("ch_id"), Data: f.str("data"), Encoding: f.optStr("encoding", EncodingUTF8)}
	case KindWSClose:
		return WSClose{ChID: f.str("ch_id"), Code: f.optInt("code", 1000), Reason: f.optStr("reason", "")}
	case KindEventReady:
		return EventReady{}
	case KindEventBatch:
		return EventBatch{ID: f.str("id"), SessionID: f.str("session_id"), Events: f.events("events")}
	case KindEventAck:
		return EventAck{
			Applied:   f.nonnegative("applied"),
			ID:        f.str("id"),
			Error:     f.strOrNull("error"),
			Retryable: f.optBool("retryable"),
		}
	}
	return nil // frameKind has said why
}

// frameKind returns the kind, one of the known ones.
func (f *fields) frameKind() Kind {
	v := f.get("kind")
	if v.typ != typeString {
		f.fail("frame missing 'kind' field")
		return ""
	}
	for _, kind := range [...]Kind{
		KindResponseBody, KindRequest, KindWSFrame, KindPing, KindPong, KindResponseHead, KindResponseEnd, KindRequestCancel,
		KindWSOpen, KindWSClose, KindEventBatch, KindEventAck, KindEventReady, KindHello,
	} {
		if v.is(string(kind)) {
			return kind
		}
	}
	f.fail("unknown frame kind: " + excerpt(string(v.text)))
	return ""
}

// defaultCancelReason is the reason of a request.cancel that names none.
const defaultCancelReason = "client_disconnected"

func (f *fields) hello() Frame {
	h := Hello{
		RunnerVersion:        f.str("runner_version"),
		FrameProtocolVersion: f.int("frame_protocol_version"),
		Harnesses:            f.strs("harnesses"),
		Envs:                 f.strs("envs"),
		TelemetryOptOut:      f.optBool("telemetry_opt_out"),
		Capabilities:         f.strs("capabilities"),
		ConnectionID:         f.optStr("connection_id", ""),
	}
	// The direct attach pair is never an error: anything odd, and it is absent.
	port, token := f.get("direct_attach_port"), f.get("direct_attach_token")
	if f.err == nil && port.typ == typeInt && token.typ == typeString && token.size > 0 {
		n := parseInt(port.text)
		h.DirectAttachPort, h.DirectAttachToken = &n, token.unescape()
	}
	return h
}

func (f *fields) responseEnd() Frame {
	end := ResponseEnd{ID: f.str("id")}
	if f.get("error").typ == typeString { // any other type reads as absent
		end.Error = f.strOrNull("error")
	}
	return end
}

// excerpt quotes s for an error text, and cuts what a hostile peer made long.
func excerpt(s string) string {
	const most = 64
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "..."
	}
	return strconv.QuoteToASCII(s)
}
