package tunnel

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDepthLimit(t *testing.T) {
	nested := func(open, shut string, levels int) []byte {
		// The frame is a level too.
		return []byte(`{"kind":"ping","ts":1,"x":` + strings.Repeat(open, levels-1) + "0" + strings.Repeat(shut, levels-1) + "}")
	}
	for _, c := range [][2]string{{"[", "]"}, {`{"a":`, "}"}, {`[0,{"a":`, "}]"}} {
		per := strings.Count(c[0], "[") + strings.Count(c[0], "{")
		levels := (maxDepth-1)/per + 1
		_, err := Decode(nested(c[0], c[1], levels))
		require.NoError(t, err, "%s", c[0])
		_, err = Decode(nested(c[0], c[1], levels+1))
		require.ErrorContains(t, err, "not valid JSON: nested too deep at byte", "%s", c[0])
	}
}

// TestDeepFrameIsCheap is upstream's weakness W21: a deep frame is an error,
// takes no stack, and still tells whom to answer.
func TestDeepFrameIsCheap(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	for _, message := range []string{
		`{"kind":"request","id":"r","x":` + deep,
		`{"kind":"request","id":"r","x":` + strings.Repeat(`{"a":`, 100_000),
		`{"kind":"request","id":"r","x":` + deep + strings.Repeat("]", 100_000) + "}",
		deep,
	} {
		data := []byte(message)
		allocs := testing.AllocsPerRun(1, func() {
			_, err := Decode(data)
			require.ErrorContains(t, err, "nested too deep")
		})
		require.Less(t, allocs, 50.0)
	}
	kind, id := FrameID([]byte(`{"kind":"request","id":"r","x":` + deep))
	require.Equal(t, KindRequest, kind)
	require.Equal(t, "r", id)
}

func TestDigitsLimit(t *testing.T) {
	most := strings.Repeat("9", 4300)
	for _, digits := range []string{most, "-" + most} {
		f, err := Decode([]byte(`{"kind":"ping","ts":` + digits + `}`))
		require.NoError(t, err)
		require.Equal(t, digits, f.(Ping).TS.String())
		require.Equal(t, `{"kind":"pong","ts":`+digits+`}`, string(Append(nil, Pong(f.(Ping)))))
	}
	// Upstream rejects the frame wherever the integer stands.
	for _, message := range []string{
		`{"kind":"ping","ts":9` + most + `}`, `{"kind":"ping","ts":-9` + most + `}`,
		`{"kind":"ping","ts":1,"x":9` + most + `}`, `{"kind":"ping","ts":1,"x":[{"y":9` + most + `}]}`,
	} {
		_, err := Decode([]byte(message))
		require.ErrorContains(t, err, "not valid JSON: integer of more than 4300 digits at byte")
	}
	_, err := Decode([]byte(`{"kind":"ping","ts":1,"x":9` + most + `.5}`))
	require.NoError(t, err, "a float has no such limit")
}

func TestInt(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 1709654400000, math.MaxInt64, math.MinInt64} {
		got, ok := IntOf(n).Int64()
		require.True(t, ok)
		require.Equal(t, n, got)
		require.Equal(t, fmt.Sprint(n), IntOf(n).String())
		require.Equal(t, IntOf(n), parseInt([]byte(fmt.Sprint(n))), "equal integers are ==")
	}
	require.Equal(t, "0", Int{}.String())
	require.Equal(t, Int{}, parseInt([]byte("-0")), "-0 is 0")
	for _, digits := range []string{"9223372036854775808", "-9223372036854775809"} {
		_, ok := parseInt([]byte(digits)).Int64()
		require.False(t, ok)
		require.Equal(t, digits, parseInt([]byte(digits)).String())
		require.Equal(t, digits[0] == '-', parseInt([]byte(digits)).negative())
	}
}

// TestDecodeText covers what JSON text may be, where parsers differ.
func TestDecodeText(t *testing.T) {
	for _, message := range []string{
		`{"kind":"ping","ts":1,"x":[NaN,Infinity,-Infinity,{"y":NaN}]}`, // as upstream's parser
		`{"kind":"ping","ts":1,"x":"\ud800","\udc00":["\ud800\ud800\udc00"]}`,
		`{"\u006bind":"\u0070ing","t\u0073":1}`,
		`{"kind":"ping","ts":1,"x":[-0,0.5,1E+2,1e-2,-0.0e0,[],{},"",[[]],[{}],{"a":{"b":[]}}]}`,
		"\t\r\n {\"kind\" \n:\t\"ping\" , \"ts\"\r: 1 } \n",
		"{\"kind\":\"ping\",\"ts\":1,\"x\":\"\x7f\u0080\u2028\uffff\U0010ffff\"}",
	} {
		f, err := Decode([]byte(message))
		require.NoError(t, err, message)
		require.Equal(t, Ping{TS: IntOf(1)}, f, message)
	}
	for _, x := range []string{
		"01", "-", "+1", "1.", ".5", "1e", "1e+", "-NaN", "--1", "0x1", "1_0", "nan", "infinity", "Inf", "tru", "nulls", "True",
		`"\x"`, `"\u12"`, `"\u12G4"`, `"\U0041"`, "'a'", "\"\t\"", "\"\x00\"", "\"\x1f\"", "\"\xff\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"",
		"[1,]", "[,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "[}", "{]", "[1}", "{\"a\":[1}}", "/**/1", "", "\u00a0 1", "\x00",
	} {
		for _, message := range []string{`{"kind":"ping","ts":1,"x":` + x + `}`, `{"kind":"ping","ts":1,"x":[0,` + x + `]}`} {
			if x == "" && message[len(message)-3] == ',' {
				continue // "[0,]" is in the list above
			}
			_, err := Decode([]byte(message))
			require.ErrorContains(t, err, "frame is not valid JSON", message)
		}
	}
}

// TestLoneSurrogate: a string that a frame keeps is never altered, so one that
// UTF-8 cannot hold costs the frame; what the frame ignores or passes on as it
// stands may have any.
func TestLoneSurrogate(t *testing.T) {
	for _, message := range []string{
		`{"kind":"response.body","id":"r","body":"\ud800"}`,
		`{"kind":"response.body","id":"r","body":"a\udc00\ud800"}`,
		`{"kind":"response.body","id":"r","body":"\ud83d\ud83d\ude00"}`,
		`{"kind":"response.body","id":"r","body":"\ud83dx\ude00"}`,
		`{"kind":"response.end","id":"r","error":"\ud800"}`,
		`{"kind":"request","id":"r","method":"GET","path":"/","headers":[["a","\ud800"]]}`,
	} {
		_, err := Decode([]byte(message))
		require.ErrorContains(t, err, "lone surrogate", message)
		_, id := FrameID([]byte(message))
		require.Equal(t, "r", id)
	}
	f, err := Decode([]byte(`{"kind":"response.body","id":"r","body":"\uD83D\uDE00\\ud800"}`))
	require.NoError(t, err)
	require.Equal(t, `😀\ud800`, f.(ResponseBody).Body)

	event := json.RawMessage(`{"type":"\ud800", "x":[NaN]}`)
	f, err = Decode([]byte(`{"kind":"event.batch","id":"b","session_id":"s","events":[ ` + string(event) + ` ]}`))
	require.NoError(t, err)
	require.Equal(t, []json.RawMessage{event}, f.(EventBatch).Events)
}

// TestEventsAreApart: the events of a batch share one copy, and not a byte.
func TestEventsAreApart(t *testing.T) {
	f, err := Decode([]byte(`{"kind":"event.batch","id":"b","session_id":"s","events":[{"type":"1"},{"type":"2"}]}`))
	require.NoError(t, err)
	events := f.(EventBatch).Events
	_ = append(events[0], `{"type":"3"}`...)
	require.Equal(t, `{"type":"2"}`, string(events[1]))
}

func TestFrameError(t *testing.T) {
	for message, want := range map[string]FrameError{
		``:     {Reason: "frame is not valid JSON: unexpected end at byte 0"},
		`{"a"`: {Reason: "frame is not valid JSON: unexpected end at byte 4"},
		`[1]`:  {Reason: "frame must be a JSON object, got array"},
		`{"kind":"` + strings.Repeat("é", 99) + `"}`: {Reason: `unknown frame kind: "` + strings.Repeat(`\u00e9`, 32) + `"...`},
		`{"kind":"request","id":null}`:               {Kind: KindRequest, Reason: "request frame: missing required string field: 'id', got null"},
	} {
		_, err := Decode([]byte(message))
		require.Equal(t, &want, err)
	}
}

func TestFrameID(t *testing.T) {
	for message, want := range map[string][2]string{
		`{"kind":"request","id":"r"}`:                    {"request", "r"},
		`{"id":"r","kind":"request","method":`:           {"request", "r"},
		`{"kind":"ws.frame","id":"no","ch_id":"c"}`:      {"ws.frame", "c"},
		`{"kind":"ws.frame","id":"no"}`:                  {"ws.frame", ""},
		`{"kind":"request.flow","id":"r"}`:               {"request.flow", "r"},
		`{"kind":"request","id":7}`:                      {"request", ""},
		`{"kind":"request","id":"\ud800"}`:               {"request", ""},
		`{"kind":"request","id":"\u0072","x":"` + "\xff": {"", ""},
		`{"id":"r"}`: {"", "r"},
		`[1]`:        {"", ""},
		``:           {"", ""},
	} {
		kind, id := FrameID([]byte(message))
		require.Equal(t, want, [2]string{string(kind), id}, message)
	}
}

func TestAppendInvalidUTF8(t *testing.T) {
	text := Append(nil, ResponseBody{ID: "r", Body: "a\xff\"\xc3é\xe2\x82", Encoding: EncodingUTF8})
	require.Equal(t, `{"kind":"response.body","id":"r","body":"a\udcff\"\udcc3é\udce2\udc82","encoding":"utf-8"}`, string(text))
	_, err := Decode(text)
	require.ErrorContains(t, err, "lone surrogate", "the receiver loses the frame, not bytes of it")
}

func TestAppendEscapes(t *testing.T) {
	text := Append([]byte("kept"), ResponseBody{ID: "<&>", Body: "\x00\x1f\b\f\n\r\t\"\\/\x7f\u2028é😀"})
	require.Equal(t, `kept{"kind":"response.body","id":"<&>","body":"\u0000\u001f\b\f\n\r\t\"\\/`+"\x7f\u2028é😀"+`","encoding":"utf-8"}`, string(text))
}

func TestAppendForeignFrame(t *testing.T) {
	require.Panics(t, func() { Append(nil, foreignFrame{}) })
	require.Panics(t, func() { Append(nil, &Ping{}) })
}

type foreignFrame struct{}

func (foreignFrame) Kind() Kind { return KindPing }
