package serverapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// origin is what a runner sends instead of a web page's origin (tunnel.md 1).
const origin = "omnigent://internal"

// extras is the header that asks our server for what it tells beyond the
// Omnigent API; every other server reads over it.
const extras = "X-Outrunner-Extras"

// Client calls the server. BaseURL is required; the zero value of every other
// field works. It is safe for concurrent use. Call Close when it is done.
type Client struct {
	// BaseURL is the server's address, without a last slash.
	BaseURL *url.URL
	// Header returns the credentials to send, and is asked before each call;
	// after a 401 or 403 it is asked again, and if it then returns something
	// else the call is repeated once. Nil sends none.
	Header func(context.Context) (http.Header, error)
	// HTTP makes the calls; nil is a client of this Client's own, with the
	// environment's proxies (never for loopback). Redirects are followed by
	// neither: they would carry the credentials along. Its Timeout is not used:
	// some calls take a day.
	HTTP *http.Client
	// Timing bounds the calls.
	Timing Timing

	once sync.Once
	http *http.Client
}

// Close drops idle connections.
func (c *Client) Close() { c.client().CloseIdleConnections() }

func (c *Client) client() *http.Client {
	c.once.Do(func() {
		if c.HTTP != nil {
			own := *c.HTTP
			own.Timeout = 0
			c.http = &own
		} else {
			connect := c.Timing.longestConnect()
			c.http = &http.Client{Transport: &http.Transport{
				Proxy:                 http.ProxyFromEnvironment,
				DialContext:           (&net.Dialer{Timeout: connect}).DialContext,
				TLSHandshakeTimeout:   connect,
				ForceAttemptHTTP2:     true,
				MaxIdleConnsPerHost:   16, // an outbox per session shares them
				IdleConnTimeout:       90 * time.Second,
				ExpectContinueTimeout: time.Second,
			}}
		}
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	})
	return c.http
}

// call is one request and what it may cost.
type call struct {
	method, path string
	body         any           // sent as JSON unless nil
	connect      time.Duration // until there is a connection; 0 is Timing.Connect
	timeout      time.Duration // of it all
	limit        int64         // of the answer's body, in bytes
	conflict     bool          // a 409 is wire.ErrConflict, and no rejection
}

// object makes a call whose answer is a JSON object, and decodes it into out.
// Fields of an unexpected type are left zero: what matters is checked by the
// caller.
func (c *Client) object(ctx context.Context, q call, out any) error {
	ctx, cancel := c.bounded(ctx, q)
	defer cancel()
	response, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or failed already
	text, err := io.ReadAll(io.LimitReader(response.Body, q.limit+1))
	switch {
	case err != nil:
		return lost{fmt.Errorf("reading the answer to %s %s: %w", q.method, q.path, err)}
	case int64(len(text)) > q.limit:
		return fmt.Errorf("the answer to %s %s is larger than %d bytes", q.method, q.path, q.limit)
	}
	if err := judge(q, response, text); err != nil {
		return err
	}
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return notOurs(q, response, text)
	}
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(text, out); err != nil && !errors.As(err, &wrongType) {
		return lost{fmt.Errorf("reading the answer to %s %s: %w", q.method, q.path, err)} // cut short
	}
	return nil
}

// send makes a call, twice if new credentials may help.
func (c *Client) send(ctx context.Context, q call) (*http.Response, error) {
	var body []byte
	if q.body != nil {
		var err error
		if body, err = json.Marshal(q.body); err != nil {
			return nil, fmt.Errorf("building %s %s: %w", q.method, q.path, err)
		}
	}
	used, err := c.credentials(ctx)
	if err != nil {
		return nil, err
	}
	response, err := c.attempt(ctx, q, body, used)
	if err != nil || (response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden) {
		return response, err
	}
	renewed, err := c.credentials(ctx)
	if err != nil || maps.EqualFunc(used, renewed, slices.Equal[[]string]) {
		return response, nil // the refusal stands
	}
	_ = response.Body.Close() // its refusal is not read
	return c.attempt(ctx, q, body, renewed)
}

func (c *Client) credentials(ctx context.Context) (http.Header, error) {
	if c.Header == nil {
		return nil, nil
	}
	header, err := c.Header(ctx)
	if err != nil {
		return nil, fmt.Errorf("getting credentials for the server: %w", err)
	}
	return header, nil
}

func (c *Client) attempt(ctx context.Context, q call, body []byte, credentials http.Header) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, q.method, c.BaseURL.String()+q.path, reader)
	if err != nil {
		return nil, fmt.Errorf("building %s %s: %w", q.method, q.path, err)
	}
	maps.Copy(request.Header, credentials)
	request.Header.Set("Origin", origin)
	request.Header.Set(extras, "1")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.client().Do(request)
	if err != nil {
		return nil, lost{fmt.Errorf("calling the server: %w", err)}
	}
	return response, nil
}
