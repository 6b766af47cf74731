package serverapi

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

// AgentContents opens the bundle of a session's agent. wire.ErrNotFound means
// that it has none. The caller closes the body; it ends with an error when the
// context or the time limit does.
func (c *Client) AgentContents(ctx context.Context, session string) (io.ReadCloser, error) {
	q := call{method: http.MethodGet, path: sessionPath(session, "/agent/contents"), timeout: orDefault(c.Timing.Contents, 5*time.Minute)}
	ctx, cancel := c.bounded(ctx, q)
	response, err := c.send(ctx, q) //nolint:bodyclose // the caller closes it
	if err != nil {
		cancel()
		return nil, fmt.Errorf("fetching the agent of session %s: %w", session, err)
	}
	if response.StatusCode != http.StatusOK || foreign(response, nil) || jsonBody(response) {
		err := refusal(q, response)
		cancel()
		return nil, fmt.Errorf("fetching the agent of session %s: %w", session, err)
	}
	return &body{response.Body, cancel}, nil
}

// jsonBody reports that an answer says that it is JSON, which no bundle is.
func jsonBody(response *http.Response) bool {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// refusal is the error of an answer that is not the file that was asked for.
func refusal(q call, response *http.Response) error {
	defer func() { _ = response.Body.Close() }() // only its first bytes matter
	text, err := io.ReadAll(io.LimitReader(response.Body, errorLimit))
	if err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", q.method, q.path, err)
	}
	if err := judge(q, response, text); err != nil {
		return err
	}
	if jsonBody(response) {
		return lost{fmt.Errorf("%s %s (status %d) was answered with JSON, which is no agent", q.method, q.path, response.StatusCode)}
	}
	return notOurs(q, response, text)
}

// body ends a call's context with the answer's body.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
