package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/coder/acp-go-sdk"
)

// maxFile bounds a file that is read or written for an agent, in bytes. An
// answer must fit a line.
const maxFile = 4 << 20

var (
	errOutside = errors.New("the path is outside the session's workspace")
	errNoText  = errors.New("the file is no UTF-8 text")
	errTooBig  = fmt.Errorf("the file is larger than %d bytes", maxFile)
)

// fileRequest is what an agent asks about a file.
type fileRequest struct {
	SessionID string  `json:"sessionId"`
	Path      string  `json:"path"`
	Line      *int    `json:"line"`
	Limit     *int    `json:"limit"`
	Content   *string `json:"content"`
}

// file serves a request for a file beneath the workspace. os.Root sees to it
// that no symbolic link leads out of there.
func (s *peer) file(params json.RawMessage, serve func(*os.Root, string, fileRequest) (any, error)) (any, *acp.RequestError) {
	var q fileRequest
	if err := json.Unmarshal(params, &q); err != nil || q.Path == "" {
		return nil, acp.NewInvalidParams(map[string]any{"error": "a path is needed"})
	}
	r := s.turn()
	if r == nil || !r.beginFile() {
		return nil, &acp.RequestError{Code: -32600, Message: "no turn is running"}
	}
	defer r.endFile()
	answer, err := within(r.cfg.Dir, q, serve)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &acp.RequestError{Code: codeNotFound, Message: fmt.Sprintf("%s does not exist", q.Path)}
	case err != nil:
		return nil, &acp.RequestError{Code: -32603, Message: fmt.Sprintf("%s: %v", q.Path, err)}
	}
	return answer, nil
}

func (r *Run) beginFile() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return false
	}
	r.files++
	return true
}

func (r *Run) endFile() {
	r.Pulse.Nudge()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files--
}

func within(dir string, q fileRequest, serve func(*os.Root, string, fileRequest) (any, error)) (any, error) {
	rel, err := beneath(dir, q.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing is written through it
	return serve(root, rel, q)
}

// beneath is a path from the workspace's folder, which an agent may know by its
// real name.
func beneath(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	dirs := []string{dir}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dirs = append(dirs, real)
	}
	for _, d := range dirs {
		if rel, err := filepath.Rel(d, path); err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", errOutside
}

func readFile(root *os.Root, path string, q fileRequest) (any, error) {
	info, err := root.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFile:
		return nil, errTooBig
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, errTooBig
	case !utf8.Valid(text):
		return nil, errNoText
	}
	return map[string]string{"content": lines(string(text), q.Line, q.Limit)}, nil
}

// lines is a part of a text: from a line on, counted from 1, and so many.
func lines(text string, from, limit *int) string {
	all := strings.SplitAfter(text, "\n")
	if from != nil && *from > 1 {
		all = all[min(*from-1, len(all)):]
	}
	if limit != nil && *limit >= 0 {
		all = all[:min(*limit, len(all))]
	}
	return strings.Join(all, "")
}

func writeFile(root *os.Root, path string, q fileRequest) (any, error) {
	switch {
	case q.Content == nil:
		return nil, errors.New("there is no content")
	case len(*q.Content) > maxFile:
		return nil, errTooBig
	}
	info, err := root.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if folder := filepath.Dir(path); folder != "." {
		if err := root.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
	}
	if err := root.WriteFile(path, []byte(*q.Content), 0o644); err != nil {
		return nil, err
	}
	return map[string]any{}, nil
}
