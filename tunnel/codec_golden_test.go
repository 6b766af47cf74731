package tunnel

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenFrame is a line of testdata/frames.golden.jsonl: what upstream's codec
// makes of one message (tunnel.md 16).
type goldenFrame struct {
	Name          string
	Wire          string
	Valid         bool
	ErrorContains string `json:"error_contains"`
	Decoded       json.RawMessage
	Until         string // the last release that decodes so, when it is an old one
}

// goldenFrames returns the lines that hold for the current wire.
func goldenFrames(tb testing.TB) []goldenFrame {
	file, err := os.Open("testdata/frames.golden.jsonl")
	require.NoError(tb, err)
	defer func() { require.NoError(tb, file.Close()) }()
	var frames []goldenFrame
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var g goldenFrame
		require.NoError(tb, json.Unmarshal(lines.Bytes(), &g))
		if g.Until == "" {
			frames = append(frames, g)
		}
	}
	require.NoError(tb, lines.Err())
	require.Len(tb, frames, 187-18, "lines that are not of old releases")
	return frames
}

func TestDecodeGolden(t *testing.T) {
	for _, g := range goldenFrames(t) {
		t.Run(g.Name, func(t *testing.T) {
			f, err := Decode([]byte(g.Wire))
			if !g.Valid {
				require.Nil(t, f)
				var frameError *FrameError
				require.ErrorAs(t, err, &frameError)
				require.ErrorContains(t, err, g.ErrorContains)
				return
			}
			require.NoError(t, err)
			require.Equal(t, parse(t, g.Decoded), parse(t, marshal(t, everyField(f))))
		})
	}
}

func TestAppendGolden(t *testing.T) {
	seen := 0
	for _, g := range goldenFrames(t) {
		if !strings.HasPrefix(g.Name, "encode/") {
			continue
		}
		seen++
		t.Run(g.Name, func(t *testing.T) {
			f, err := Decode([]byte(g.Wire))
			require.NoError(t, err)
			require.Equal(t, keys(t, g.Wire), keys(t, string(Append(nil, f))), "the same keys in the same order")
			require.Equal(t, parse(t, []byte(g.Wire)), parse(t, Append(nil, f)))
		})
	}
	require.Equal(t, 39, seen)
}

// everyField returns f as the golden file shows decoded frames: every field,
// null for what is absent.
func everyField(f Frame) map[string]any {
	m := map[string]any{"kind": f.Kind()}
	switch f := f.(type) {
	case Hello:
		m["runner_version"], m["frame_protocol_version"] = f.RunnerVersion, number(f.FrameProtocolVersion)
		m["harnesses"], m["envs"], m["capabilities"] = list(f.Harnesses), list(f.Envs), list(f.Capabilities)
		m["telemetry_opt_out"], m["connection_id"] = f.TelemetryOptOut, orNull(f.ConnectionID)
		m["direct_attach_port"], m["direct_attach_token"] = nil, orNull(f.DirectAttachToken)
		if f.DirectAttachPort != nil {
			m["direct_attach_port"] = number(*f.DirectAttachPort)
		}
	case Request:
		m["id"], m["method"], m["path"], m["query_string"] = f.ID, f.Method, f.Path, f.QueryString
		m["headers"], m["body"], m["encoding"], m["stream"] = list(f.Headers), f.Body, f.Encoding, f.Stream
	case ResponseHead:
		m["id"], m["status"], m["headers"] = f.ID, number(f.Status), list(f.Headers)
	case ResponseBody:
		m["id"], m["body"], m["encoding"] = f.ID, f.Body, f.Encoding
	case ResponseEnd:
		m["id"], m["error"] = f.ID, f.Error
	case RequestCancel:
		m["id"], m["reason"] = f.ID, f.Reason
	case Ping:
		m["ts"] = number(f.TS)
	case Pong:
		m["ts"] = number(f.TS)
	case WSOpen:
		m["ch_id"], m["path"], m["query_string"] = f.ChID, f.Path, f.QueryString
	case WSFrame:
		m["ch_id"], m["data"], m["encoding"] = f.ChID, f.Data, f.Encoding
	case WSClose:
		m["ch_id"], m["code"], m["reason"] = f.ChID, number(f.Code), f.Reason
	case EventBatch:
		m["id"], m["session_id"], m["events"] = f.ID, f.SessionID, f.Events
	case EventAck:
		m["id"], m["applied"], m["error"], m["retryable"] = f.ID, number(f.Applied), f.Error, f.Retryable
	}
	return m
}

func number(n Int) json.Number { return json.Number(n.String()) }

func list[T any](l []T) []T { return append([]T{}, l...) }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func marshal(tb require.TestingT, v any) []byte {
	b, err := json.Marshal(v)
	require.NoError(tb, err)
	return b
}

// parse returns the value of a JSON text, its numbers as they stand.
func parse(tb require.TestingT, text []byte) any {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	require.NoError(tb, d.Decode(&v))
	return v
}

// keys returns the top-level keys of an object in their order.
func keys(tb testing.TB, text string) []string {
	d := json.NewDecoder(strings.NewReader(text))
	_, err := d.Token()
	require.NoError(tb, err)
	var keys []string
	for d.More() {
		key, err := d.Token()
		require.NoError(tb, err)
		keys = append(keys, key.(string))
		var skipped json.RawMessage
		require.NoError(tb, d.Decode(&skipped))
	}
	return keys
}
