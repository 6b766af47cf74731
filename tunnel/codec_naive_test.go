package tunnel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// naiveDecode is Decode told a second time, from tunnel.md 4 and with the
// standard library alone: slow, and as near to the table's words as may be. It
// returns a frame's fields as everyField does.
func naiveDecode(data []byte) (map[string]any, error) {
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("not valid JSON")
	}
	text := withoutNaN(data)
	if err := naiveLimits(text); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("not valid JSON")
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return nil, fmt.Errorf("must be a JSON object")
	}
	// A map's keys are case-sensitive, and the last one wins.
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	kind, ok := naiveString(raw["kind"])
	if !ok {
		return nil, fmt.Errorf("missing 'kind'")
	}
	rules, ok := naiveTable[kind]
	if !ok || loneSurrogates(raw["kind"]) {
		return nil, fmt.Errorf("unknown frame kind")
	}
	frame, lone := map[string]any{"kind": kind}, false
	for _, rule := range rules {
		v, problem := rule.read(raw[rule.key])
		lone = lone || problem == naiveLone
		if problem != "" && problem != naiveLone {
			return nil, fmt.Errorf("%s", strings.ReplaceAll(problem, "KEY", rule.key))
		}
		frame[rule.key] = v
	}
	if lone { // upstream notices this last
		return nil, errors.New(naiveLone)
	}
	if kind == "hello" && (frame["direct_attach_port"] == nil || frame["direct_attach_token"] == nil) {
		frame["direct_attach_port"], frame["direct_attach_token"] = nil, nil
	}
	return frame, nil
}

// naiveRule reads one field: nil raw is an absent one.
type naiveRule struct {
	key  string
	read func(raw json.RawMessage) (v any, problem string)
}

var naiveTable = map[string][]naiveRule{
	"hello": {
		{"runner_version", naiveStr}, {"frame_protocol_version", naiveInt}, {"harnesses", naiveStrs}, {"envs", naiveStrs},
		{"telemetry_opt_out", naiveBool}, {"capabilities", naiveStrs}, {"connection_id", naiveConnectionID},
		{"direct_attach_port", naiveLenientPort}, {"direct_attach_token", naiveLenientToken},
	},
	"request": {
		{"id", naiveStr}, {"method", naiveStr}, {"path", naiveStr}, {"query_string", naiveOpt("")}, {"headers", naiveHeaders},
		{"body", naiveNullable}, {"encoding", naiveOpt("utf-8")}, {"stream", naiveBool},
	},
	"response.head":  {{"id", naiveStr}, {"status", naiveInt}, {"headers", naiveHeaders}},
	"response.body":  {{"id", naiveStr}, {"body", naiveStr}, {"encoding", naiveOpt("utf-8")}},
	"response.end":   {{"id", naiveStr}, {"error", naiveLenient}},
	"request.cancel": {{"id", naiveStr}, {"reason", naiveOpt("client_disconnected")}},
	"ping":           {{"ts", naiveInt}},
	"pong":           {{"ts", naiveInt}},
	"ws.open":        {{"ch_id", naiveStr}, {"path", naiveStr}, {"query_string", naiveOpt("")}},
	"ws.frame":       {{"ch_id", naiveStr}, {"data", naiveStr}, {"encoding", naiveOpt("utf-8")}},
	"ws.close":       {{"ch_id", naiveStr}, {"code", naiveCode}, {"reason", naiveOpt("")}},
	"event.ready":    {},
	"event.batch":    {{"id", naiveStr}, {"session_id", naiveStr}, {"events", naiveEvents}},
	"event.ack":      {{"applied", naiveApplied}, {"id", naiveStr}, {"error", naiveNullable}, {"retryable", naiveBool}},
}

const naiveLone = "lone surrogate"

func naiveStr(raw json.RawMessage) (any, string) {
	s, ok := naiveString(raw)
	if !ok {
		return nil, "missing required string field: 'KEY'"
	}
	if loneSurrogates(raw) {
		return nil, naiveLone
	}
	return s, ""
}

func naiveOpt(absent string) func(json.RawMessage) (any, string) {
	return func(raw json.RawMessage) (any, string) {
		if raw == nil {
			return absent, ""
		}
		if _, ok := naiveString(raw); !ok {
			return nil, "must be a string: 'KEY'"
		}
		return naiveStr(raw)
	}
}

func naiveConnectionID(raw json.RawMessage) (any, string) {
	v, problem := naiveOpt("")(raw)
	if v == "" {
		v = nil
	}
	return v, problem
}

func naiveNullable(raw json.RawMessage) (any, string) {
	if raw == nil || string(raw) == "null" {
		return nil, ""
	}
	if _, ok := naiveString(raw); !ok {
		return nil, "must be a string or null: 'KEY'"
	}
	return naiveStr(raw)
}

func naiveLenient(raw json.RawMessage) (any, string) {
	if _, ok := naiveString(raw); !ok {
		return nil, ""
	}
	return naiveStr(raw)
}

func naiveLenientToken(raw json.RawMessage) (any, string) {
	if s, ok := naiveString(raw); ok && s != "" && !loneSurrogates(raw) {
		return s, ""
	}
	return nil, ""
}

func naiveLenientPort(raw json.RawMessage) (any, string) {
	v, _ := naiveInt(raw)
	return v, ""
}

func naiveInt(raw json.RawMessage) (any, string) {
	n, ok := new(big.Int).SetString(string(raw), 10)
	if !ok {
		return nil, "missing required int field: 'KEY'"
	}
	return json.Number(n.String()), ""
}

func naiveCode(raw json.RawMessage) (any, string) {
	if raw == nil {
		return json.Number("1000"), ""
	}
	n, problem := naiveInt(raw)
	if problem != "" {
		problem = "must be an integer: 'KEY'"
	}
	return n, problem
}

func naiveApplied(raw json.RawMessage) (any, string) {
	n, problem := naiveInt(raw)
	if problem == "" && strings.HasPrefix(string(n.(json.Number)), "-") {
		return nil, "event.ack applied must be nonnegative"
	}
	return n, problem
}

func naiveBool(raw json.RawMessage) (any, string) {
	switch string(raw) {
	case "", "false":
		return false, ""
	case "true":
		return true, ""
	}
	return nil, "must be a boolean: 'KEY'"
}

func naiveStrs(raw json.RawMessage) (any, string) {
	list, lone := []any{}, ""
	if raw == nil {
		return list, ""
	}
	elements, ok := naiveList(raw)
	for _, element := range elements {
		if _, isString := naiveString(element); !isString {
			return nil, "list of strings: 'KEY'"
		}
		s, problem := naiveStr(element)
		if problem != "" {
			lone = problem
		}
		list = append(list, s)
	}
	if !ok {
		return nil, "list of strings: 'KEY'"
	}
	return list, lone
}

func naiveHeaders(raw json.RawMessage) (any, string) {
	list, lone := []any{}, ""
	if raw == nil {
		return list, ""
	}
	pairs, ok := naiveList(raw)
	if !ok {
		return nil, "list of header pairs: 'KEY'"
	}
	for _, pair := range pairs {
		if pair, ok := naiveList(pair); !ok || len(pair) != 2 {
			return nil, "list of header pairs: 'KEY'"
		}
		h, problem := naiveStrs(pair)
		if problem == naiveLone {
			lone = problem
		} else if problem != "" {
			return nil, "list of header pairs: 'KEY'"
		}
		list = append(list, h)
	}
	return list, lone
}

func naiveEvents(raw json.RawMessage) (any, string) {
	const problem = "event.batch requires a nonempty event array with string types"
	events, ok := naiveList(raw)
	if !ok || len(events) == 0 {
		return nil, problem
	}
	for _, event := range events {
		var members map[string]json.RawMessage
		if json.Unmarshal(event, &members) != nil {
			return nil, problem
		}
		if _, ok := naiveString(members["type"]); !ok {
			return nil, problem
		}
	}
	return events, ""
}

func naiveList(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	err := json.Unmarshal(raw, &list)
	return list, err == nil && raw[0] == '['
}

func naiveString(raw json.RawMessage) (string, bool) {
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil && raw[0] == '"'
}

var (
	escapes    = regexp.MustCompile(`(?:\\u[0-9a-fA-F]{4})+|\\.`)
	notNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-Infinity|Infinity|NaN`)
)

// withoutNaN puts a float for each value that the standard library does not
// know, with spaces around it so that nothing beside it can become part of it.
func withoutNaN(text []byte) []byte {
	return notNumbers.ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte(" 0.5 ")
	})
}

// naiveLimits checks the limits that the standard library does not have.
func naiveLimits(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return nil // the end, or something that Unmarshal will see too
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			if depth > maxDepth {
				return fmt.Errorf("depth")
			}
		case json.Number:
			digits := strings.TrimPrefix(token.String(), "-")
			if len(digits) > maxIntDigits && !strings.ContainsAny(digits, ".eE") {
				return fmt.Errorf("digits")
			}
		}
	}
}

// loneSurrogates reports whether a JSON string has an escape that UTF-8 cannot
// hold.
func loneSurrogates(raw json.RawMessage) bool {
	for _, run := range escapes.FindAllString(string(raw), -1) {
		var high uint64
		for ; strings.HasPrefix(run, `\u`); run = run[6:] {
			unit, err := strconv.ParseUint(run[2:6], 16, 16)
			if err != nil {
				return false
			}
			if high != 0 {
				if utf16.DecodeRune(rune(high), rune(unit)) == utf8.RuneError {
					return true
				}
				high = 0
			} else if 0xd800 <= unit && unit < 0xdc00 {
				high = unit
			} else if 0xdc00 <= unit && unit < 0xe000 {
				return true
			}
		}
		if high != 0 {
			return true
		}
	}
	return false
}
