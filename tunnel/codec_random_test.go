package tunnel

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRoundTrip: every frame of valid strings comes back as it was.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frameGen().Draw(t, "frame")
		text := Append(nil, f)
		require.True(t, utf8.Valid(text))
		require.True(t, json.Valid(text))
		back, err := Decode(text)
		require.NoError(t, err)
		require.Equal(t, f, back)
	})
}

// TestDecodeRandom holds Decode against naiveDecode on messages that are
// nearly frames: right keys in any order, often with values of a wrong type.
func TestDecodeRandom(t *testing.T) {
	kinds := make([]string, 0, len(naiveTable))
	for kind := range naiveTable {
		kinds = append(kinds, kind)
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		members := []string{`"kind":` + escapedGen(kind).Draw(t, "kind text")}
		for _, rule := range naiveTable[kind] {
			if rapid.IntRange(0, 9).Draw(t, "absent") > 0 {
				members = append(members, escapedGen(rule.key).Draw(t, "key")+spaceGen().Draw(t, "space")+":"+fieldGen(rule.key).Draw(t, "value"))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "extra") == 0 {
			key := rapid.SampledFrom([]string{"id", "ts", "x", "Kind", "body", "events"}).Draw(t, "extra key")
			members = append(members, `"`+key+`":`+valueGen(3).Draw(t, "extra value"))
		}
		members = rapid.Permutation(members).Draw(t, "order")
		checkDecode(t, []byte("{"+strings.Join(members, spaceGen().Draw(t, "space")+",")+"}"))
	})
}

func frameGen() *rapid.Generator[Frame] {
	str := rapid.String()
	optStr := rapid.Ptr(str, true)
	encoding := rapid.OneOf(rapid.SampledFrom([]string{EncodingUTF8, EncodingBase64}), rapid.StringN(1, -1, -1))
	headers := rapid.Map(rapid.SliceOf(rapid.SliceOfN(str, 2, 2)), func(pairs [][]string) []Header {
		list := make([]Header, len(pairs))
		for i, pair := range pairs {
			list[i] = Header(pair)
		}
		return list
	})
	event := rapid.Custom(func(t *rapid.T) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"x":%s,"type":%s}`, validGen(3).Draw(t, "x"), escapedGen("e").Draw(t, "type")))
	})
	return rapid.Custom(func(t *rapid.T) Frame {
		id, other, third := str.Draw(t, "id"), str.Draw(t, "other"), str.Draw(t, "third")
		n := intGen().Draw(t, "n")
		switch kind := rapid.IntRange(0, 13).Draw(t, "kind"); kind {
		case 0:
			h := Hello{
				RunnerVersion: id, FrameProtocolVersion: n, Harnesses: rapid.SliceOf(str).Draw(t, "harnesses"), Envs: rapid.SliceOf(str).Draw(t, "envs"),
				TelemetryOptOut: rapid.Bool().Draw(t, "opt out"), Capabilities: rapid.SliceOfN(str, 1, 4).Draw(t, "capabilities"), ConnectionID: other,
			}
			if third != "" {
				h.DirectAttachPort, h.DirectAttachToken = &n, third
			}
			return h
		case 1:
			return Request{
				ID: id, Method: other, Path: third, QueryString: str.Draw(t, "query"), Headers: headers.Draw(t, "headers"),
				Body: optStr.Draw(t, "body"), Encoding: encoding.Draw(t, "encoding"), Stream: rapid.Bool().Draw(t, "stream"),
			}
		case 2:
			return ResponseHead{ID: id, Status: n, Headers: headers.Draw(t, "headers")}
		case 3:
			return ResponseBody{ID: id, Body: other, Encoding: encoding.Draw(t, "encoding")}
		case 4:
			return ResponseEnd{ID: id, Error: optStr.Draw(t, "error")}
		case 5:
			return RequestCancel{ID: id, Reason: other}
		case 6:
			return Ping{TS: n}
		case 7:
			return Pong{TS: n}
		case 8:
			return WSOpen{ChID: id, Path: other, QueryString: third}
		case 9:
			return WSFrame{ChID: id, Data: other, Encoding: encoding.Draw(t, "encoding")}
		case 10:
			return WSClose{ChID: id, Code: n, Reason: other}
		case 11:
			return EventReady{}
		case 12:
			return EventBatch{ID: id, SessionID: other, Events: rapid.SliceOfN(event, 1, 4).Draw(t, "events")}
		default:
			if n.negative() {
				n = IntOf(0)
			}
			return EventAck{ID: id, Applied: n, Error: optStr.Draw(t, "error"), Retryable: rapid.Bool().Draw(t, "retryable")}
		}
	})
}

func intGen() *rapid.Generator[Int] {
	return rapid.Custom(func(t *rapid.T) Int {
		n := big.NewInt(rapid.Int64().Draw(t, "n"))
		for range rapid.IntRange(0, 2).Draw(t, "big") {
			n.Mul(n, big.NewInt(1<<62))
		}
		return parseInt([]byte(n.String()))
	})
}

// fieldGen makes values that a field of that key mostly takes.
func fieldGen(key string) *rapid.Generator[string] {
	str := stringGen()
	pair := rapid.OneOf(rapid.Just("[%,%]"), rapid.Just("[%,%]"), rapid.Just("[%, % ]"), rapid.Just("[%]"), rapid.Just("[%,%,%]"), rapid.Just("%"))
	var right *rapid.Generator[string]
	switch key {
	case "frame_protocol_version", "direct_attach_port", "status", "ts", "code", "applied":
		right = rapid.Map(intGen(), Int.String)
	case "telemetry_opt_out", "stream", "retryable":
		right = rapid.SampledFrom([]string{"true", "false"})
	case "harnesses", "envs", "capabilities":
		right = listGen(str)
	case "headers":
		right = rapid.Custom(func(t *rapid.T) string {
			text := listGen(pair).Draw(t, "pairs")
			for strings.Contains(text, "%") {
				text = strings.Replace(text, "%", strings.ReplaceAll(str.Draw(t, "header"), "%", ""), 1)
			}
			return text
		})
	case "events":
		right = listGen(rapid.Custom(func(t *rapid.T) string {
			return `{"type":` + rapid.OneOf(str, str, str, valueGen(1)).Draw(t, "type") + `,"x":` + valueGen(2).Draw(t, "x") + `}`
		}))
	default:
		right = str
	}
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 15).Draw(t, "wrong") == 0 {
			return valueGen(2).Draw(t, "any value")
		}
		return spaceGen().Draw(t, "space") + right.Draw(t, "right value")
	})
}

func listGen(element *rapid.Generator[string]) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		space := spaceGen().Draw(t, "space")
		return "[" + space + strings.Join(rapid.SliceOfN(element, 0, 20).Draw(t, "elements"), space+","+space) + space + "]"
	})
}

// valueGen makes any value, now and then one that is not JSON.
func valueGen(depth int) *rapid.Generator[string] {
	odd := rapid.SampledFrom([]string{"NaN", "-Infinity", "01", "1.", "tru", `"`, `"\x"`, "[1,]", "{", "\x00", "\u00e9", "-0", "1e5"})
	return rapid.OneOf(validGen(depth), validGen(depth), validGen(depth), odd)
}

func validGen(depth int) *rapid.Generator[string] {
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", "0", "-1", "1.5", "-2E+3", `""`, "[]", "{}"}),
		rapid.Map(rapid.String(), func(s string) string { return string(appendString(nil, s)) }),
	)
	if depth == 0 {
		return scalar
	}
	inner := rapid.Deferred(func() *rapid.Generator[string] { return validGen(depth - 1) })
	return rapid.OneOf(scalar, listGen(inner), rapid.Map(inner, func(v string) string { return `{"a":` + v + `, "type" :` + v + `}` }))
}

// stringGen makes the texts of strings, escapes and lone surrogates included.
func stringGen() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{
			"a", "0123456789abcdef", "é", "隧道", "😀", `\n`, `\"`, `\\`, `\/`, `\u0000`, `\u00e9`, `\u20AC`, `\ud83d\ude00`, `\ufffd`, "\ufffd", "utf-8", "base64",
		}),
		rapid.Map(rapid.StringMatching(`[ -!#-\[\]-~]*`), func(s string) string { return s }),
	)
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		if rapid.IntRange(0, 40).Draw(t, "lone") == 0 {
			text += rapid.SampledFrom([]string{`\ud800`, `\udfff\ud800`, `\ud83d\\ude00`}).Draw(t, "lone surrogate")
		}
		return `"` + text + `"`
	})
}

// escapedGen makes texts of the string s, some characters as escapes.
func escapedGen(s string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 5).Draw(t, "escape") > 0 {
			return `"` + s + `"`
		}
		i := rapid.IntRange(0, len(s)-1).Draw(t, "character")
		return fmt.Sprintf(`"%s\u%04x%s"`, s[:i], s[i], s[i+1:])
	})
}

func spaceGen() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "", " ", "\n\t\r "})
}
