package runner

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/outrunner/outrunner/runner/wire"
)

func TestToolsHandler(t *testing.T) {
	w := newWorld(t)
	w.server.tool = func(c wire.ToolCall) (string, error) {
		if c.Name == "no" {
			return "", errors.New("a policy denies it")
		}
		return c.Name + " " + string(c.Args), nil
	}
	w.start()
	h := w.runner.ToolsHandler()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/sessions/S/tools", "", 200, `"sys_session_get_history"`},
		{"POST", "/v1/sessions/S/tools/call", `{"name":"look","arguments":{"a":1}}`, 200, `{"output":"look {\"a\":1}"}`},
		{"POST", "/v1/sessions/S/tools/call", `{"name":"look"}`, 200, `{"output":"look {}"}`},
		{"POST", "/v1/sessions/S/tools/call", `{"name":"no"}`, 200, `{"error":"a policy denies it"}`},
		{"POST", "/v1/sessions/S/tools/call", `{}`, 400, `invalid_request`},
		{"POST", "/v1/sessions/S/tools/call", `[`, 400, `invalid_input`},
	} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		require.Equal(t, c.status, rec.Code, c.body)
		require.Contains(t, rec.Body.String(), c.want)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v1/sessions/S", http.NoBody))
	require.Equal(t, 404, rec.Code)
}
