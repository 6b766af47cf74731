package tunnel

import "encoding/json"

// ProtocolVersion is the only frame_protocol_version on the wire so far
// (tunnel.md 0: every release speaks 1, everything newer is additive).
const ProtocolVersion = 1

// MaxMessage is the wire limit of one WebSocket message in bytes, both ways
// (tunnel.md 1). A larger one closes the tunnel with 1009.
const MaxMessage = 100 << 20

// Kind names a frame; it is the value of the frame's "kind" key.
type Kind string

// The frame kinds of tunnel.md 4.
const (
	KindHello         Kind = "hello"
	KindRequest       Kind = "request"
	KindResponseHead  Kind = "response.head"
	KindResponseBody  Kind = "response.body"
	KindResponseEnd   Kind = "response.end"
	KindRequestCancel Kind = "request.cancel"
	KindPing          Kind = "ping"
	KindPong          Kind = "pong"
	KindWSOpen        Kind = "ws.open"
	KindWSFrame       Kind = "ws.frame"
	KindWSClose       Kind = "ws.close"
	KindEventReady    Kind = "event.ready"
	KindEventBatch    Kind = "event.batch"
	KindEventAck      Kind = "event.ack"
)

// Body encodings (tunnel.md 6). Any other value decodes as a frame and fails
// only when the body is read; "" in a frame made by hand is EncodingUTF8.
const (
	EncodingUTF8   = "utf-8"
	EncodingBase64 = "base64"
)

// Frame is one message of the tunnel. The concrete types are values of this
// package, one per Kind; a frame is never mutated after it was handed over.
type Frame interface{ Kind() Kind }

// Header is one name and value, in wire order; duplicates are kept. The wire
// has text where HTTP has bytes: each byte of an HTTP header is the character
// of that number (latin-1), so a byte above 0x7F is two bytes here.
type Header [2]string

// Hello is the runner's first message on a connection, and sent only once.
type Hello struct {
	RunnerVersion        string
	FrameProtocolVersion Int
	Harnesses            []string
	Envs                 []string
	TelemetryOptOut      bool
	Capabilities         []string
	ConnectionID         string // "" = none
	DirectAttachPort     *Int   // both or neither
	DirectAttachToken    string
}

// Request asks the runner's handler to serve one HTTP request.
type Request struct {
	ID          string
	Method      string
	Path        string // already percent-decoded: never unescape again
	QueryString string // raw, without "?"
	Headers     []Header
	Body        *string // nil = none
	Encoding    string
	Stream      bool
}

// ResponseHead starts the answer to the request with the same ID.
type ResponseHead struct {
	ID      string
	Status  Int
	Headers []Header
}

// ResponseBody is a piece of an answer's body.
type ResponseBody struct {
	ID       string
	Body     string
	Encoding string
}

// ResponseEnd ends an answer. A non-nil Error, "" included, is an abnormal end.
type ResponseEnd struct {
	ID    string
	Error *string
}

// RequestCancel asks the runner to stop working on a request.
type RequestCancel struct {
	ID     string
	Reason string
}

// Ping asks for a Pong with the same TS, in epoch milliseconds.
type Ping struct{ TS Int }

// Pong answers a Ping.
type Pong struct{ TS Int }

// WSOpen opens a channel to a WebSocket endpoint of the runner.
type WSOpen struct {
	ChID        string
	Path        string
	QueryString string
}

// WSFrame carries one WebSocket message of a channel, text as utf-8 and
// binary as strict base64.
type WSFrame struct {
	ChID     string
	Data     string
	Encoding string
}

// WSClose ends a channel in one direction.
type WSClose struct {
	ChID   string
	Code   Int
	Reason string
}

// EventReady tells a runner that this connection takes event batches.
type EventReady struct{}

// EventBatch carries runner events to the server, applied in order. A decoded
// event is the text as the peer wrote it, with what upstream's parser takes
// beyond JSON: NaN, Infinity and lone surrogate escapes may be in it.
type EventBatch struct {
	ID        string
	SessionID string
	Events    []json.RawMessage // at least one, each an object with a string "type"
}

// EventAck tells how many events of a batch were applied.
type EventAck struct {
	ID        string
	Applied   Int
	Error     *string
	Retryable bool
}

// Kind implements Frame.
func (Hello) Kind() Kind { return KindHello }

// Kind implements Frame.
func (Request) Kind() Kind { return KindRequest }

// Kind implements Frame.
func (ResponseHead) Kind() Kind { return KindResponseHead }

// Kind implements Frame.
func (ResponseBody) Kind() Kind { return KindResponseBody }

// Kind implements Frame.
func (ResponseEnd) Kind() Kind { return KindResponseEnd }

// Kind implements Frame.
func (RequestCancel) Kind() Kind { return KindRequestCancel }

// Kind implements Frame.
func (Ping) Kind() Kind { return KindPing }

// Kind implements Frame.
func (Pong) Kind() Kind { return KindPong }

// Kind implements Frame.
func (WSOpen) Kind() Kind { return KindWSOpen }

// Kind implements Frame.
func (WSFrame) Kind() Kind { return KindWSFrame }

// Kind implements Frame.
func (WSClose) Kind() Kind { return KindWSClose }

// Kind implements Frame.
func (EventReady) Kind() Kind { return KindEventReady }

// Kind implements Frame.
func (EventBatch) Kind() Kind { return KindEventBatch }

// Kind implements Frame.
func (EventAck) Kind() Kind { return KindEventAck }
