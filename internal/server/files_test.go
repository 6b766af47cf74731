package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// attach uploads a file to a session.
func (s *site) attach(session, name, media string, content []byte) (int, map[string]any) {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	head := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, name)}}
	if media != "" {
		head.Set("Content-Type", media)
	}
	part, err := form.CreatePart(head)
	require.NoError(s.t, err)
	_, err = part.Write(content)
	require.NoError(s.t, err)
	require.NoError(s.t, form.Close())
	res, raw := s.raw("POST", "/v1/sessions/"+session+"/resources/files", body.String(), map[string]string{"Content-Type": form.FormDataContentType()})
	out := map[string]any{}
	require.NoError(s.t, json.Unmarshal(raw, &out), string(raw))
	return res.StatusCode, out
}

// blobsOf are the files on disk of a session.
func (s *site) blobsOf(session string) []string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.cfg.Dir, filesFolder, session))
	require.NoError(s.t, gone(err))
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestFiles(t *testing.T) {
	s := newSite(t)
	session := s.session()
	v := s.watch(session, "")
	code, note := s.attach(session, "../a/nöte.txt", "text/plain", []byte("hello\n"))
	require.Equal(t, 201, code, note)
	id := note["id"].(string)
	meta := note["metadata"].(map[string]any)
	require.NotZero(t, meta["created_at"])
	require.Equal(t, map[string]any{"id": id, "object": "session.resource", "type": "file", "session_id": session, "name": "nöte.txt",
		"metadata": map[string]any{"filename": "nöte.txt", "bytes": 6.0, "created_at": meta["created_at"], "source_metadata": nil}}, note)
	created := v.until(typeResourceCreated)
	require.Equal(t, note, created[len(created)-1].data["resource"])

	base := "/v1/sessions/" + session + "/resources/files"
	_, second := s.attach(session, "b.md", "", nil)
	all := s.ok(200, "GET", base, nil)
	require.Equal(t, []any{second, note}, all["data"], "newest first")
	page := s.ok(200, "GET", base+"?limit=1&order=asc", nil)
	require.Equal(t, []any{note}, page["data"])
	require.Equal(t, true, page["has_more"])
	require.Equal(t, []any{second}, s.ok(200, "GET", base+"?order=asc&after="+id, nil)["data"])
	require.Equal(t, []any{note}, s.ok(200, "GET", base+"?order=asc&before="+second["id"].(string), nil)["data"])
	require.Empty(t, s.ok(200, "GET", base+"?after=0123456789abcdef0123456789abcdef", nil)["data"])
	require.Equal(t, all, s.ok(200, "GET", "/v1/sessions/"+session+"/resources", nil))

	s.restart()
	require.Equal(t, note, s.ok(200, "GET", base+"/"+id, nil))
	res, raw := s.raw("GET", base+"/"+id+"/content", nil, nil)
	require.Equal(t, "hello\n", string(raw))
	require.Equal(t, `attachment; filename="n_te.txt"; filename*=UTF-8''n%C3%B6te.txt`, res.Header.Get("Content-Disposition"))
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))
	require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))

	other := s.session()
	for _, path := range []string{"/v1/sessions/" + other + "/resources/files/" + id, base + "/0123456789abcdef0123456789abcdef", base + "/x",
		"/v1/sessions/0123456789abcdef0123456789abcdef/resources/files/" + id} {
		s.ok(404, "GET", path, nil)
		s.ok(404, "DELETE", path, nil)
	}
	require.Equal(t, map[string]any{"id": id, "object": "session.resource.deleted", "deleted": true}, s.ok(200, "DELETE", base+"/"+id, nil))
	s.ok(404, "GET", base+"/"+id+"/content", nil)
	s.ok(404, "DELETE", base+"/"+id, nil)
	require.Equal(t, []string{second["id"].(string)}, s.blobsOf(session))
	items := s.items(session)
	require.Len(t, items, 3)
	require.Equal(t, note, items[0]["resource"])
	require.Equal(t, "session.resource.deleted", items[2]["event_type"])
	require.Equal(t, session, items[2]["response_id"])
	s.ok(200, "DELETE", "/v1/sessions/"+session, nil)
	require.Empty(t, s.blobsOf(session))
}

func TestWhatCanBeAttached(t *testing.T) {
	s := newSite(t)
	session := s.session()
	for name, want := range map[string]int{"a.png image/png": 201, "a.pdf application/pdf": 201, "a.json application/json": 201, "a.go application/octet-stream": 201,
		"a.svg image/svg+xml": 201, "a.ipynb application/x-ipynb+json": 201, "a.bin text/plain": 201, "a.zip application/zip": 415,
		"a application/octet-stream": 415, "a.mp3 audio/mpeg": 415} {
		file, media, _ := strings.Cut(name, " ")
		code, out := s.attach(session, file, media, []byte("x"))
		require.Equal(t, want, code, "%s: %v", name, out)
	}
	code, out := s.attach(session, "big.txt", "text/plain", bytes.Repeat([]byte("a"), maxTextFile+1))
	require.Equal(t, 413, code, out)
	require.Len(t, s.blobsOf(session), 7, "what is refused leaves nothing")
	code, _ = s.attach(session, "just.txt", "text/plain", bytes.Repeat([]byte("a"), maxTextFile))
	require.Equal(t, 201, code)
	code, _ = s.attach("0123456789abcdef0123456789abcdef", "a.txt", "text/plain", nil)
	require.Equal(t, 404, code)
	res, raw := s.raw("POST", "/v1/sessions/"+session+"/resources/files", "no form", nil)
	require.Equal(t, 422, res.StatusCode)
	require.JSONEq(t, `{"detail":[{"type":"missing","loc":["body","file"],"msg":"Field required","input":null}]}`, string(raw))
}

// A message names files; the runner gets them as data URIs, the history keeps
// the names. One that is not there stays a name.
func TestAttachmentsGoToTheRunner(t *testing.T) {
	s := newSite(t)
	r := s.runner("secret")
	session := s.session(map[string]any{"runner_id": r.id()})
	_, note := s.attach(session, "note.txt", "text/plain", []byte("hello"))
	_, dot := s.attach(session, "dot.png", "image/png", []byte{1, 2, 3})
	content := []any{map[string]any{"type": "input_text", "text": "look"},
		map[string]any{"type": "input_file", "file_id": note["id"]},
		map[string]any{"type": "input_image", "file_id": dot["id"]},
		map[string]any{"type": "input_file", "file_id": "0123456789abcdef0123456789abcdef", "filename": "gone.txt"}}
	s.ok(202, "POST", "/v1/sessions/"+session+"/events", map[string]any{"type": "message", "data": map[string]any{"role": "user", "content": content}})
	got := r.await(s, session, "message", 1)[0].body["content"]
	require.Equal(t, []any{content[0],
		map[string]any{"type": "input_file", "filename": "note.txt", "file_data": "data:text/plain;base64,aGVsbG8="},
		map[string]any{"type": "input_image", "image_url": "data:image/png;base64,AQID"}, content[3]}, got)
	items := s.items(session)
	require.Equal(t, content, items[len(items)-1]["content"])
}

// What a crash left on disk is swept at the next start; what has a row stays.
func TestTheSweepOfFiles(t *testing.T) {
	s := newSite(t)
	session := s.session()
	_, kept := s.attach(session, "a.txt", "text/plain", []byte("x"))
	s.stop()
	folder := filepath.Join(s.cfg.Dir, filesFolder)
	require.NoError(t, os.WriteFile(filepath.Join(folder, session, "0123456789abcdef0123456789abcdef"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "fedcba9876543210fedcba9876543210"), 0o700))
	s.start()
	require.Equal(t, []string{kept["id"].(string)}, s.blobsOf(session))
	require.NoDirExists(t, filepath.Join(folder, "fedcba9876543210fedcba9876543210"))
	s.ok(200, "GET", "/v1/sessions/"+session+"/resources/files/"+kept["id"].(string)+"/content", nil)
}

// A sub-agent gets files of a session above it, and of no other.
func TestCopyFiles(t *testing.T) {
	s := newSite(t)
	root := s.lead(nil)
	worker := s.child(root, "worker", "1")
	_, file := s.attach(root, "a.txt", "text/plain", []byte("x"))
	id := file["id"].(string)
	copyTo := func(status int, session, source string, ids ...string) map[string]any {
		t.Helper()
		return s.ok(status, "POST", "/v1/sessions/"+session+"/resources/files:copy", map[string]any{"source_session_id": source, "file_ids": ids})
	}
	out := copyTo(200, s.child(worker, "digger", "1"), root, id)
	row := out["mapping"].(map[string]any)[id].(map[string]any)
	require.Equal(t, "session.files.copied", out["object"])
	require.Equal(t, map[string]any{"new_id": row["new_id"], "filename": "a.txt", "content_type": "text/plain"}, row)
	_, raw := s.raw("GET", "/v1/sessions/"+out["session_id"].(string)+"/resources/files/"+row["new_id"].(string)+"/content", nil, nil)
	require.Equal(t, "x", string(raw))
	copyTo(403, root, worker, id)
	copyTo(403, s.session(), root, id)
	copyTo(403, worker, s.session(), id)
	copyTo(404, worker, root, "0123456789abcdef0123456789abcdef")
	copyTo(422, worker, root)
	require.Equal(t, http.StatusUnprocessableEntity, func() int {
		code, _ := s.call("POST", "/v1/sessions/"+worker+"/resources/files:copy", map[string]any{})
		return code
	}())
}
