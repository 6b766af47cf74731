package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// scripted is an agent that does what it is told: each line of a prompt that
// begins with "> " is a command for it (command), the rest is talk. Its traits
// are words on its command line. It knows nothing of the library that the
// adapter uses.
type scripted struct {
	traits  []string
	in      *bufio.Scanner
	session string
	seen    []string        // the methods that it was asked
	first   json.RawMessage // the parameters of the last session/new or session/load
	prompt  json.RawMessage
	ids     int
	cancels int
	signed  bool
	model   string
}

type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func scriptedAgent(traits []string) int {
	a := &scripted{traits: traits, in: bufio.NewScanner(os.Stdin), model: "small"}
	a.in.Buffer(nil, 64<<20)
	if a.is("mute") {
		for a.in.Scan() {
			continue
		}
		return 0
	}
	for {
		m, ok := a.next()
		if !ok {
			return 0
		}
		a.serve(m)
	}
}

func (a *scripted) is(trait string) bool { return slices.Contains(a.traits, trait) }

func (a *scripted) next() (m rpc, ok bool) {
	if !a.in.Scan() {
		return m, false
	}
	if err := json.Unmarshal(a.in.Bytes(), &m); err != nil {
		fmt.Fprintln(os.Stderr, "broken line:", err)
		os.Exit(9)
	}
	if m.Method != "" {
		a.seen = append(a.seen, m.Method)
	}
	if m.Method == "session/cancel" {
		a.cancels++
	}
	return m, true
}

func (a *scripted) write(text string) { fmt.Println(text) }

func (a *scripted) answer(m rpc, result string) {
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func (a *scripted) refuse(m rpc, code int, text string) {
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"details":"the details"}}}`, m.ID, code, text))
}

func (a *scripted) update(update string) {
	a.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, a.session, update))
}

func (a *scripted) say(text string) {
	raw, _ := json.Marshal(text)
	a.update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, raw))
}

func (a *scripted) serve(m rpc) {
	switch m.Method {
	case "initialize":
		a.initialize(m)
	case "authenticate":
		a.signed = !a.is("locked")
		if a.signed {
			a.answer(m, `{}`)
		} else {
			a.refuse(m, -32000, "no key")
		}
	case "session/new", "session/load":
		a.open(m)
	case "session/set_model", "session/set_config_option":
		var p struct{ ModelID, Value string }
		_ = json.Unmarshal(m.Params, &p)
		a.say("switching") // before the prompt: it belongs to no turn
		if a.model = p.ModelID + p.Value; a.model == "bad" {
			a.refuse(m, -32602, "no such model")
		} else if a.is("stubborn") {
			a.answer(m, `{"configOptions":[{"id":"model","currentValue":"small"}]}`)
		} else {
			a.answer(m, `{}`)
		}
	case "session/prompt":
		a.turn(m)
	case "session/cancel", "$/cancel_request":
	default:
		if m.Method != "" {
			a.refuse(m, -32601, "no such method")
		}
	}
}

func (a *scripted) initialize(m rpc) {
	version, caps := "1", `{}`
	if a.is("future") {
		version = "7"
	}
	if a.is("able") {
		caps = `{"loadSession":true,"promptCapabilities":{"image":true,"embeddedContext":true}}`
	}
	methods := `[]`
	switch {
	case a.is("browser"):
		methods = `[{"id":"grok.com","name":"Web"},{"id":"x","name":"x","type":"terminal","description":"Run agent login"}]`
	case a.is("auth"), a.is("locked"):
		methods = `[{"id":"oauth-personal","name":"G"},{"id":"first","name":"F"},{"id":"token","name":"T","description":"Run agent login"}]`
	}
	a.first = m.Params
	a.answer(m, fmt.Sprintf(`{"protocolVersion":%s,"agentCapabilities":%s,"authMethods":%s,"_meta":{"defaultAuthMethodId":"token"}}`, version, caps, methods))
}

func (a *scripted) open(m rpc) {
	var p struct{ SessionID string }
	_ = json.Unmarshal(m.Params, &p)
	if !a.signed && (a.is("auth") || a.is("locked") || a.is("browser")) {
		a.refuse(m, -32000, "Authentication required")
		return
	}
	a.first = m.Params
	models := ""
	switch {
	case a.is("models"):
		models = `"models":{"currentModelId":"small","availableModels":[{"modelId":"small"},{"modelId":"big"},{"modelId":"bad"}]}`
	case a.is("option"):
		models = `"configOptions":[{"id":"model","currentValue":"small","options":[{"name":"g","options":[{"value":"small"},{"value":"big"}]}]}]`
	case a.is("fixed"):
		models = `"configOptions":[{"id":"mode","currentValue":"x"}]`
	}
	if m.Method == "session/load" {
		if _, err := os.Stat(p.SessionID + ".session"); err != nil {
			a.refuse(m, -32002, "Session not found")
			return
		}
		a.session = p.SessionID
		a.say("words of before")
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"old","title":"old","status":"completed"}`)
		a.answer(m, "{"+models+"}")
		return
	}
	a.ids++
	a.session = p.SessionID
	if !a.is("client") {
		a.session = fmt.Sprintf("ses_%d_%d", os.Getpid(), a.ids)
	}
	_ = os.WriteFile(filepath.Base(a.session)+".session", nil, 0o600)
	if models != "" {
		models = "," + models
	}
	id := fmt.Sprintf(`"sessionId":%q`, a.session)
	if a.is("client") {
		id = `"x":1`
	}
	a.answer(m, "{"+id+models+"}")
	a.update(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
}

// turn does the commands of a prompt, and ends it.
func (a *scripted) turn(m rpc) {
	a.prompt = m.Params
	var p struct {
		Prompt []struct{ Text string }
	}
	_ = json.Unmarshal(m.Params, &p)
	for _, block := range p.Prompt {
		for line := range strings.SplitSeq(block.Text, "\n") {
			if command, ok := strings.CutPrefix(line, "> "); ok && a.command(m, command) {
				return
			}
		}
	}
	a.answer(m, `{"stopReason":"end_turn"}`)
}

// command does one command. true is the end of the turn.
func (a *scripted) command(m rpc, command string) bool {
	verb, rest, _ := strings.Cut(command, " ")
	switch verb {
	case "say":
		a.say(rest)
	case "update":
		a.update(rest)
	case "raw":
		a.write(rest)
	case "bytes":
		a.update("{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"a\xffb\\u0000\"}}")
	case "blob":
		n, _ := strconv.Atoi(rest)
		a.write(`{"jsonrpc":"2.0","id":77,"result":"` + strings.Repeat("\xff", n) + `"}`)
	case "pause":
		d, _ := time.ParseDuration(rest)
		<-time.After(d)
	case "long":
		n, _ := strconv.Atoi(rest)
		a.say(strings.Repeat("x", n))
	case "flood":
		n, _ := strconv.Atoi(rest)
		for i := range n {
			a.say(fmt.Sprintf("%d ", i))
		}
	case "stderr":
		fmt.Fprintln(os.Stderr, rest)
	case "seen":
		a.say(fmt.Sprint(a.seen, " cancels ", a.cancels, " model ", a.model))
	case "prompt":
		a.say(string(a.prompt))
	case "first":
		a.say(string(a.first))
	case "env":
		a.say(strings.Join(os.Environ(), " "))
	case "ask", "request", "flood-requests":
		return a.ask(verb, rest)
	case "answer":
		a.answer(m, rest)
		return true
	case "late":
		a.answer(m, `{"stopReason":"end_turn"}`)
		a.say(rest)
		return true
	case "fail":
		code, _ := strconv.Atoi(rest)
		a.refuse(m, code, "it broke")
		return true
	case "exit":
		code, _ := strconv.Atoi(rest)
		os.Exit(code)
	case "die-after":
		a.answer(m, `{"stopReason":"end_turn"}`)
		os.Exit(0)
	case "await-cancel":
		for waits := rest == "ask"; a.cancels < 2 || waits; {
			if next, ok := a.next(); !ok {
				os.Exit(8)
			} else if next.Method == "" {
				a.say("got " + string(next.Result))
				waits = false
			}
		}
		a.say("cancelled")
		if rest == "ask" {
			a.ask("ask", "late")
		}
		a.cancels = 0
		if rest == "fail" {
			a.refuse(m, -32603, "aborted")
		} else {
			a.answer(m, `{"stopReason":"cancelled"}`)
		}
		return true
	case "hang":
		for a.in.Scan() {
			continue
		}
		os.Exit(7)
	}
	return false
}

// ask asks the client: the short words are questions for permission.
func (a *scripted) ask(verb, rest string) bool {
	options := map[string]string{
		"plain":  `[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`,
		"late":   `[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]`,
		"only":   `[{"optionId":"y","name":"Yes","kind":"allow_once"}]`,
		"always": `[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"}]`,
		"grant":  `[{"optionId":"a","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"}]`,
	}
	name, call, _ := strings.Cut(rest, " ")
	if call == "" {
		call = `{"toolCallId":"c"}`
	}
	method, params := name, call
	if verb == "ask" {
		method = "session/request_permission"
		params = fmt.Sprintf(`{"sessionId":%q,"toolCall":%s,"options":%s}`, a.session, call, options[name])
	}
	times := 1
	if verb == "flood-requests" {
		times = maxAsks + 8
		method, params = "session/request_permission", fmt.Sprintf(`{"sessionId":%q,"toolCall":{"toolCallId":"c"},"options":[]}`, a.session)
	}
	for i := range times {
		a.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":%s}`, i, method, params))
	}
	if call == `{"toolCallId":"unanswered"}` {
		return false
	}
	for {
		reply, ok := a.next()
		if !ok {
			os.Exit(8)
		}
		if reply.Method == "" {
			a.say("got " + string(reply.Result) + string(reply.Error))
			return false
		}
	}
}
