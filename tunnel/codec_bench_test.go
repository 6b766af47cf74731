package tunnel

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// benchBodies are the payloads that matter: a bulk chunk, a stream's event as
// it is read every few milliseconds, and text that escapes make long.
func benchBodies() []struct {
	name string
	text bool
	body []byte
} {
	chunk := make([]byte, 32<<10)
	for i := range chunk {
		chunk[i] = byte(i * 7)
	}
	event := []byte(`data: {"type":"response.output_text.delta","delta":"a word","message_id":"0123456789abcdef0123456789abcdef:3","index":17}` + "\n\n")
	return []struct {
		name string
		text bool
		body []byte
	}{
		{"32KiB/base64", false, chunk},
		{"32KiB/ascii", true, bytes.Repeat([]byte("plain ASCII text "), 32<<10/17)},
		{"32KiB/json", true, bytes.Repeat(event, 32<<10/len(event))},
		{"32KiB/cjk", true, []byte(strings.Repeat("隧道", 32<<10/6))},
		{"1KiB/base64", false, chunk[:1<<10]},
		{"event", true, event},
	}
}

// BenchmarkAppend measures bytes to message: EncodeBody and Append.
func BenchmarkAppend(b *testing.B) {
	for _, c := range benchBodies() {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				body, encoding := EncodeBody(c.body, c.text)
				buf = Append(buf[:0], ResponseBody{ID: "0123456789abcdef0123456789abcdef", Body: body, Encoding: encoding})
			}
		})
	}
}

// BenchmarkDecode measures message to bytes: Decode and DecodeBody.
func BenchmarkDecode(b *testing.B) {
	for _, c := range benchBodies() {
		b.Run(c.name, func(b *testing.B) {
			body, encoding := EncodeBody(c.body, c.text)
			message := Append(nil, ResponseBody{ID: "0123456789abcdef0123456789abcdef", Body: body, Encoding: encoding})
			b.SetBytes(int64(len(c.body)))
			b.ReportAllocs()
			for b.Loop() {
				f, err := Decode(message)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := DecodeBody(f.(ResponseBody).Body, encoding); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeRequest measures a request as the real server sends it.
func BenchmarkDecodeRequest(b *testing.B) {
	message := fmt.Appendf(nil, `{"kind": "request", "id": "7a0f7f7cb90f4a5fb5a8071fd0b77568", "method": "POST", "path": "/v1/sessions/conv_a/events", `+
		`"query_string": "", "headers": [["host", "runner"], ["accept", "*/*"], ["accept-encoding", "gzip, deflate, zstd"], `+
		`["connection", "keep-alive"], ["user-agent", "python-httpx/0.28.1"], ["content-length", "15"], ["content-type", "application/json"]], `+
		`"body": "{\"type\":\"message\",\"text\":\"%s\"}", "encoding": "utf-8", "stream": true}`, strings.Repeat("word ", 20))
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(message); err != nil {
			b.Fatal(err)
		}
	}
}
