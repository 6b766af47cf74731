package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestTextAndThoughts(t *testing.T) {
	s := newStage(t, "able")
	text, end := s.run(script(
		`update {"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`,
		`say Hel`, `say `, `say lo ü`,
		`update {"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","uri":"file:///x","name":"x"}}`,
		`update {"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":""}}`,
	))
	s.completed(end)
	require.Equal(t, "Hello ü[x](file:///x)", text)
	require.Equal(t, "hm", s.joined(wire.ReasoningDelta))
	require.Len(t, s.all(wire.NativeSession), 1)
	require.True(t, strings.HasPrefix(s.native, "ses_"))
	require.Nil(t, end.Usage)

	require.Equal(t, "again", s.do("say again"))
	require.Empty(t, s.all(wire.NativeSession), "it is the same session")
	require.Equal(t, 2, s.turns(), "and the same process")
}

func TestTheHandshake(t *testing.T) {
	s := newStage(t)
	require.JSONEq(t, `{"cwd":"`+s.cfg.Dir+`","mcpServers":[]}`, s.do("first"))
	require.Contains(t, s.do("seen"), "[initialize session/new session/prompt session/prompt] cancels 0")
	env := s.do("env")
	require.Contains(t, env, "MINE=1")
	require.NotContains(t, env, "OUTRUNNER_TURN_ID", "it outlives its turn")

	s = newStage(t)
	s.cfg.Tools = []string{"outrunner", "mcp"}
	require.JSONEq(t, `{"cwd":"`+s.cfg.Dir+`","mcpServers":[{"name":"outrunner","command":"outrunner","args":["mcp","--session","s"],"env":[]}]}`, s.do("first"))
	s = newStage(t)
	s.cfg.Tools, s.opts = []string{"outrunner", "mcp"}, Options{NoTools: true}
	require.Contains(t, s.do("first"), `"mcpServers":[]`)

	s = newStage(t, "client")
	s.opts = Options{ClientSessionID: true, SendModel: true, Model: "big"}
	var first struct{ SessionID, Model string }
	require.NoError(t, json.Unmarshal([]byte(s.do("first")), &first))
	require.Equal(t, "big", first.Model)
	require.Equal(t, s.native, first.SessionID)
}

func TestAnAgentOfAnotherVersion(t *testing.T) {
	s := newStage(t, "future")
	_, end := s.run(says("x"))
	s.failed(end, "harness_protocol", "speaks version 7 of the Agent Client Protocol")
	require.Nil(t, s.pool.Kept("s"), "nobody can use it")
}

func TestSignIn(t *testing.T) {
	s := newStage(t, "auth")
	require.Contains(t, s.do("seen"), "[initialize session/new authenticate session/new session/prompt]")

	for _, trait := range []string{"browser", "locked"} {
		s = newStage(t, trait)
		_, end := s.run(says("x"))
		s.failed(end, CodeSignIn, "wants somebody to sign in")
		require.Contains(t, end.Error.Remediation, "Run agent login")
		require.Nil(t, s.pool.Kept("s"), "another one sees that somebody has")
	}
}

func TestTheWayToSignIn(t *testing.T) {
	for want, text := range map[string]string{
		"":      `{}`,
		"b":     `{"authMethods":[{"id":"a"},{"id":"b"}],"_meta":{"defaultAuthMethodId":"b"}}`,
		"a":     `{"authMethods":[{"id":""},{"id":"a"},{"id":"b"}],"_meta":{"defaultAuthMethodId":"c"}}`,
		"plain": `{"authMethods":[{"id":"w","description":"opens your Browser"},{"id":"chatgpt"},{"id":"plain"}],"_meta":{"defaultAuthMethodId":"chatgpt"}}`,
	} {
		var hello greeting
		require.NoError(t, json.Unmarshal([]byte(text), &hello))
		require.Equal(t, want, unattended(hello), text)
	}
}

func TestInstructionsAndHistory(t *testing.T) {
	s := newStage(t)
	start := script("prompt")
	start.Prompt = "Be brief."
	start.History = []json.RawMessage{
		json.RawMessage(`{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`),
		json.RawMessage(`{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}`),
		json.RawMessage(`{"type":"function_call_output","call_id":"c","output":"a b"}`),
		json.RawMessage(`{"type":"message","role":"assistant","content":"two"}`),
	}
	text, end := s.run(start)
	s.completed(end)
	var got struct {
		Prompt []struct{ Type, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Len(t, got.Prompt, 1)
	require.Equal(t, "Be brief.\n\nThis is the conversation until now:\n\nuser: one\n\n(assistant used ls {})\n\n(and got: a b)\n\n"+
		"assistant: two\n\nNow answer this message:\n\n> prompt", got.Prompt[0].Text)

	text, end = s.run(start)
	s.completed(end)
	require.NotContains(t, text, "Be brief", "it was told")
	require.NotContains(t, text, "until now")

	s = newStage(t)
	s.opts.KeepSystemPrompt = true
	text, end = s.run(start)
	s.completed(end)
	require.NotContains(t, text, "Be brief")
}

func TestALongHistoryIsCut(t *testing.T) {
	var history []json.RawMessage
	for range 20 {
		raw, err := json.Marshal(map[string]string{"type": "message", "role": "user", "content": strings.Repeat("x", maxStory/10)})
		require.NoError(t, err)
		history = append(history, raw)
	}
	story := storyOf(history)
	require.Contains(t, story, "(Its beginning is left out.)")
	require.Less(t, len(story), maxStory+1000)
	require.Greater(t, len(story), maxStory/2)
	require.Empty(t, storyOf([]json.RawMessage{json.RawMessage(`7`), json.RawMessage(`{"type":"x"}`)}))
}

func TestImagesAndFiles(t *testing.T) {
	blocks := []map[string]any{
		{"type": "input_text", "text": "> prompt"},
		{"type": "input_image", "image_url": "data:image/png;base64,aGk="},
		{"type": "input_file", "filename": "a b.txt", "file_data": "data:text/plain;base64,aGk="},
		{"type": "input_file", "filename": "z", "file_data": "data:application/zip;base64,/w=="},
	}
	s := newStage(t, "able")
	text, end := s.run(with(blocks...))
	s.completed(end)
	require.JSONEq(t, `[{"type":"text","text":"> prompt"},{"type":"image","data":"aGk=","mimeType":"image/png"},
		{"type":"resource","resource":{"uri":"attachment:///a%20b.txt","mimeType":"text/plain","text":"hi"}},
		{"type":"resource","resource":{"uri":"attachment:///z","mimeType":"application/zip","blob":"/w=="}}]`, promptIn(t, text))

	s = newStage(t)
	text, end = s.run(with(blocks...))
	s.completed(end)
	var got []struct{ Text string }
	require.NoError(t, json.Unmarshal([]byte(promptIn(t, text)), &got))
	require.Len(t, got, 1)
	require.Equal(t, "> prompt\n[An image was attached, without a name, which you cannot see.]\n[The file a b.txt was attached:]\nhi\n"+
		"[End of a b.txt.]\n[A file was attached, z, which you cannot see.]", got[0].Text)
}

func promptIn(t *testing.T, text string) string {
	t.Helper()
	var got struct{ Prompt json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	return string(got.Prompt)
}

func TestAMessageThatIsNone(t *testing.T) {
	s := newStage(t)
	_, end := s.run(wire.TurnStart{Session: "s", Turn: "t", Inputs: []wire.Input{{Content: json.RawMessage(`{`)}}})
	s.failed(end, "invalid_input", "the message cannot be read")
	require.Nil(t, s.pool.Kept("s"))
}

func TestSessionLoad(t *testing.T) {
	s := newStage(t, "able")
	require.Equal(t, "one", s.do("say one"))
	native := s.native
	require.NoError(t, s.pool.Close(t.Context(), "s"))

	start := script("say two", "seen", "prompt")
	start.Prompt, start.History = "Be brief.", []json.RawMessage{json.RawMessage(`{"type":"message","role":"user","content":"one"}`)}
	text, end := s.run(start)
	s.completed(end)
	require.True(t, strings.HasPrefix(text, "two[initialize session/load session/prompt]"), "no words of before: %s", text)
	require.NotContains(t, text, "Be brief", "it knows")
	require.Empty(t, s.items())
	require.Empty(t, s.all(wire.NativeSession))
	require.Equal(t, native, s.native)
}

func TestASessionThatCannotBeLoaded(t *testing.T) {
	for _, traits := range [][]string{{"able"}, {}} {
		s := newStage(t, traits...)
		start := script("seen", "prompt")
		start.Native, start.History = "lost", []json.RawMessage{json.RawMessage(`{"type":"message","role":"user","content":"one"}`)}
		text, end := s.run(start)
		s.completed(end)
		require.Contains(t, text, "session/new session/prompt]")
		require.Contains(t, text, "user: one")
		require.Len(t, s.all(wire.NativeSession), 1)
		require.NotEqual(t, "lost", s.native)
	}
}

func TestModels(t *testing.T) {
	big := func(commands ...string) wire.TurnStart {
		start := script(commands...)
		start.Model = "big"
		return start
	}
	for trait, method := range map[string]string{"models": "session/set_model", "option": "session/set_config_option", "": "session/set_config_option"} {
		s := newStage(t, trait)
		require.Contains(t, s.do("seen"), "model small")
		text, end := s.run(big("seen"))
		s.completed(end)
		require.Contains(t, text, method+" session/prompt] cancels 0 model big")
		require.NotContains(t, text, "switching")
		text, end = s.run(big("seen"))
		s.completed(end)
		require.Equal(t, 1, strings.Count(text, method), "it has that already")
		if trait != "" {
			require.Contains(t, s.do("seen"), "model small", "and back to its own")
		}
		require.Equal(t, 1, s.pool.Size())

		start := script("seen")
		start.Model = "bad"
		_, end = s.run(start)
		if trait != "" {
			s.failed(end, CodeModel, `cannot use the model "bad"; it says: no such model: the details`)
			require.Contains(t, end.Error.Remediation, "small, big")
			require.NotNil(t, s.pool.Kept("s"), "it can go on")
		} else {
			s.completed(end)
			require.Contains(t, s.log.String(), "does not let its model be chosen")
		}
	}

	s := newStage(t, "option", "stubborn")
	_, end := s.run(big())
	s.failed(end, CodeModel, `it went on with "small"`)

	s = newStage(t, "fixed")
	text, end := s.run(big("seen"))
	s.completed(end)
	require.NotContains(t, text, "set_config_option")

	s = newStage(t, "models")
	s.opts.Model = "big"
	require.Contains(t, s.do("seen"), "model big")
}

func TestUsage(t *testing.T) {
	s := newStage(t, "models")
	_, end := s.run(script(
		`update {"sessionUpdate":"usage_update","used":5,"size":100,"cost":{"amount":0.5,"currency":"USD"}}`,
		`answer {"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":2,"totalTokens":3,"cachedReadTokens":4,"cachedWriteTokens":5}}`))
	s.completed(end)
	require.JSONEq(t, `{"input_tokens":1,"output_tokens":2,"total_tokens":3,"cache_read_input_tokens":4,
		"cache_creation_input_tokens":5,"context_tokens":5,"cost_usd":0.5,"model":"small"}`, string(end.Usage))
	_, end = s.run(script(`update {"sessionUpdate":"usage_update","used":7,"cost":{"amount":0.75,"currency":"USD"}}`))
	s.completed(end)
	require.JSONEq(t, `{"context_tokens":7,"cost_usd":0.25,"model":"small"}`, string(end.Usage), "this turn's, not the session's")
}

func TestEnds(t *testing.T) {
	s := newStage(t)
	for reason, note := range map[string]string{
		"end_turn": "", "max_tokens": "limit of tokens", "max_turn_requests": "limit of requests", "refusal": "refused", "new_one": "",
	} {
		_, end := s.run(script(`answer {"stopReason":"` + reason + `"}`))
		s.completed(end)
		require.Contains(t, end.Note, note)
		if note == "" {
			require.Empty(t, end.Note)
		}
	}
	_, end := s.run(script("say no", `answer {"stopReason":"refusal"}`))
	s.completed(end)
	require.Empty(t, end.Note, "it has said why")
	_, end = s.run(script(`answer {"stopReason":"cancelled"}`))
	require.Equal(t, wire.Cancelled, end.Outcome)
	for _, strange := range []string{"null", "7", `{"stopReason":7}`, "[]"} {
		_, end = s.run(script("answer " + strange))
		s.completed(end)
	}
	_, end = s.run(script("fail -32603"))
	s.failed(end, "-32603", "it broke: the details")
	_, end = s.run(script("fail -32000"))
	s.failed(end, CodeSignIn, "it broke")
	require.Equal(t, 13, s.turns(), "it lived on all the time")

	_, end = s.run(script("fail -32002"))
	s.failed(end, "-32002", "it broke")
	require.Nil(t, s.pool.Kept("s"), "it does not know its session any more")
}
