package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// callTimeout bounds a call, from dialing to the last byte.
	callTimeout = 30 * time.Second
	// connectTimeout bounds dialing and TLS each.
	connectTimeout = 5 * time.Second
	// maxAnswer bounds an answer's body, in bytes.
	maxAnswer = 256 << 20
)

// extras is the header that asks the server for what it tells beyond the
// Omnigent API: here, which messages a response answers.
const extras = "X-Outrunner-Extras"

// Client calls one server. Make it with New, end it with Close.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	// sockets dials WebSockets, which do not go over HTTP/2.
	sockets *http.Client
}

// New returns a client of the server at base, a URL without a last slash. The
// token goes along as a bearer unless it is empty. Redirects are not followed.
func New(base *url.URL, token string) *Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	transport := func(http2 bool) *http.Transport {
		return &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout: connectTimeout,
			ForceAttemptHTTP2:   http2,
			IdleConnTimeout:     90 * time.Second,
		}
	}
	return &Client{
		base: base, token: token,
		http:    &http.Client{Transport: transport(true), CheckRedirect: stay},
		sockets: &http.Client{Transport: transport(false), CheckRedirect: stay},
	}
}

// Close drops idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.sockets.CloseIdleConnections()
}

// call sends body as JSON, unless it is nil, and decodes the answer into out.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("building %s %s: %w", method, path, err)
		}
		reader = bytes.NewReader(text)
	}
	response, err := c.do(ctx, method, path, nil, reader)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or failed already
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: the answer of %s broke off: %w", ErrUnreachable, c.base.Host, err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("reading the answer to %s %s: %w", method, path, err)
	}
	return nil
}

// do makes a request and turns every answer but 2xx, and every answer that no
// outrunner server would give, into an error.
func (c *Client) do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, body)
	if err != nil {
		return nil, fmt.Errorf("building %s %s: %w", method, path, err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set(extras, "1")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(ctx.Err(), context.Canceled) && !errors.Is(cause, errSilent) {
			return nil, cause
		}
		return nil, fmt.Errorf("%w at %s: %w", ErrUnreachable, c.base.String(), bare(err))
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 && !page(response) {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // only its start matters
	return nil, c.refusal(response)
}

func (c *Client) refusal(response *http.Response) error {
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		return fmt.Errorf("%s answered with a redirect: check --server, it may want https or another path", c.base.String())
	}
	if page(response) {
		return fmt.Errorf("%s answered with an HTML page: is it an outrunner server? check --server", c.base.String())
	}
	const enough = 64 << 10
	text, err := io.ReadAll(io.LimitReader(response.Body, enough))
	if err != nil {
		text = nil // the status says enough
	}
	var shape struct {
		Error  struct{ Code, Message string } `json:"error"`
		Detail json.RawMessage                `json:"detail"`
	}
	_ = json.Unmarshal(text, &shape) // whatever fits; the rest stays empty
	e := &StatusError{Status: response.StatusCode, Code: shape.Error.Code, Message: shape.Error.Message}
	if e.Message == "" {
		e.Message = strings.Trim(string(shape.Detail), `"`)
	}
	return e
}

func page(response *http.Response) bool {
	return strings.HasPrefix(response.Header.Get("Content-Type"), "text/html")
}

// bare is a transport's error without the method and URL that it repeats.
func bare(err error) error {
	if wrapped, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost one repeats the URL
		return wrapped.Err
	}
	return err
}
