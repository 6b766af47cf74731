//go:build interop

package peer

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// uploadTimeout bounds an upload.
const uploadTimeout = 30 * time.Second

// Bundle is an agent: the text of each file by its name.
type Bundle map[string]string

// Agent is a bundle of one agent that a harness answers.
func Agent(name, harness string) Bundle {
	return Bundle{"config.yaml": agentFile(name, harness)}
}

func agentFile(name, harness string) string {
	return fmt.Sprintf("spec_version: 1\nname: %s\nprompt: You are %s.\nexecutor:\n  type: omnigent\n  model: test-model\n  config: {harness: %q}\n",
		name, name, harness)
}

// With gives the agent a sub-agent that another harness answers.
func (b Bundle) With(name, harness string) Bundle {
	b = maps.Clone(b)
	if len(b) == 1 {
		b["config.yaml"] += "tools:\n  agents:\n"
	}
	b["config.yaml"] += "    - " + name + "\n"
	b["agents/"+name+"/config.yaml"] = agentFile(name, harness)
	return b
}

// pack makes the gzipped tar of an upload.
func (b Bundle) pack() ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b[name]))}); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(out, b[name]); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Upload makes a session with an agent of its own.
func (s *Server) Upload(b Bundle) (session string) {
	s.t.Helper()
	packed, err := b.pack()
	require.NoError(s.t, err)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(s.t, form.WriteField("metadata", "{}"))
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="bundle"; filename="agent.tar.gz"`}, "Content-Type": {"application/gzip"}})
	require.NoError(s.t, err)
	_, err = part.Write(packed)
	require.NoError(s.t, err)
	require.NoError(s.t, form.Close())
	client := http.Client{Timeout: uploadTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Post(s.URL+"/v1/sessions", form.FormDataContentType(), &body)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }() // read to its end
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusCreated, res.StatusCode, "%s", text)
	var made struct {
		Session string `json:"session_id"`
		Agent   string `json:"agent_id"`
		Name    string `json:"agent_name"`
	}
	require.NoError(s.t, json.Unmarshal(text, &made))
	require.NotEmpty(s.t, made.Session)
	require.NotEmpty(s.t, made.Agent)
	require.Contains(s.t, b["config.yaml"], "name: "+made.Name+"\n")
	return made.Session
}

// NewSession makes a session with that agent, bound to the runner.
func (s *Server) NewSession(b Bundle, runner string) (session string) {
	s.t.Helper()
	session = s.Upload(b)
	s.Bind(session, runner)
	return session
}
