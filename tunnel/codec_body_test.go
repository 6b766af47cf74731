package tunnel

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextContent(t *testing.T) {
	text := []string{
		"application/json; charset=x", "APPLICATION/JSON", "application/json-patch+json", "application/jsonl", "application/x-ndjson",
		"text/html", "Text/Plain", "text/event-stream", "text/",
	}
	binary := []string{
		"application/problem+json", "application/xml", "application/javascript", "image/svg+xml", "multipart/form-data; boundary=x",
		" application/json", "text", "application/jso", "image/png", "*/*",
	}
	for _, response := range []bool{false, true} {
		for _, contentType := range text {
			require.True(t, TextContent(contentType, response), contentType)
		}
		for _, contentType := range binary {
			require.False(t, TextContent(contentType, response), contentType)
		}
	}
	require.True(t, TextContent("", false), "a request without a content type is JSON")
	require.False(t, TextContent("", true), "a response without a content type is bytes")
}

func TestEncodeBody(t *testing.T) {
	for _, c := range []struct {
		in             string
		text           bool
		body, encoding string
	}{
		{"\x89PNG", false, "iVBORw==", "base64"},
		{`{"x": 1}`, true, `{"x": 1}`, "utf-8"},
		{`{"x": 1}`, false, "eyJ4IjogMX0=", "base64"},
		{"é€😀\x00\r\n", true, "é€😀\x00\r\n", "utf-8"},
		{"caf\xe9", true, "Y2Fm6Q==", "base64"},
		{"\xed\xa0\x80", true, "7aCA", "base64"}, // a surrogate is not UTF-8
		{"", true, "", "utf-8"},
		{"", false, "", "base64"},
	} {
		body, encoding := EncodeBody([]byte(c.in), c.text)
		require.Equal(t, []string{c.body, c.encoding}, []string{body, encoding}, "%q", c.in)
		back, err := DecodeBody(body, encoding)
		require.NoError(t, err)
		require.Equal(t, c.in, string(back))
	}
}

// TestBase64Golden reads what the decoder that upstream uses makes of odd
// base64, with its strict switch and without.
func TestBase64Golden(t *testing.T) {
	file, err := os.Open("testdata/base64.golden.jsonl")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	seen := 0
	for lines := bufio.NewScanner(file); lines.Scan(); seen++ {
		var g struct {
			Data            string
			Lenient, Strict *string // hex; nil is an error
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &g))
		check := func(want *string, got []byte, err error) {
			if want == nil {
				require.Error(t, err, "%q", g.Data)
				require.Nil(t, got)
				return
			}
			require.NoError(t, err, "%q", g.Data)
			require.Equal(t, *want, hex.EncodeToString(got), "%q", g.Data)
		}
		b, err := DecodeBody(g.Data, EncodingBase64)
		check(g.Lenient, b, err)
		b, text, err := DecodeChannel(g.Data, EncodingBase64)
		check(g.Strict, b, err)
		require.False(t, text)
	}
	require.Equal(t, 267, seen)
}

func TestDecodeUTF8(t *testing.T) {
	b, err := DecodeBody("é\x00", EncodingUTF8)
	require.NoError(t, err)
	require.Equal(t, "é\x00", string(b))
	b, text, err := DecodeChannel("é", EncodingUTF8)
	require.NoError(t, err)
	require.True(t, text)
	require.Equal(t, "é", string(b))
}

func TestUnknownEncoding(t *testing.T) {
	for _, encoding := range []string{"", "utf8", "UTF-8", "Base64", "gzip"} {
		_, err := DecodeBody("x", encoding)
		require.ErrorContains(t, err, "unknown body encoding")
		_, _, err = DecodeChannel("x", encoding)
		require.ErrorContains(t, err, "unknown body encoding")
	}
}
