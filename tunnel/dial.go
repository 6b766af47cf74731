package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// origin is the Origin header of every runner (tunnel.md 1).
const origin = "omnigent://internal"

// capabilityHeader lists our own server's additions in its upgrade answer.
const capabilityHeader = "X-Outrunner-Capabilities"

// tunnelURL derives the endpoint from the server's base URL (tunnel.md 1).
func tunnelURL(base, runnerID string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", fmt.Errorf("parsing server URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("server URL %q must begin with http:// or https://", u.Redacted())
	case u.Host == "":
		return "", fmt.Errorf("server URL %q has no host", u.Redacted())
	case runnerID == "":
		return "", errors.New("the runner id is empty")
	}
	path := strings.TrimRight(u.EscapedPath(), "/") + "/v1/runners/" + escapeSegment(runnerID) + "/tunnel"
	end := url.URL{Scheme: "ws" + strings.TrimPrefix(u.Scheme, "http"), User: u.User, Host: u.Host}
	return end.String() + path, nil
}

// escapeSegment percent-encodes all but the unreserved characters.
func escapeSegment(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// dial makes one attempt to connect l. On success the Reason is empty.
func (c *Client) dial(ctx context.Context, target string, l *link) (answer http.Header, _ Reason) {
	ctx, cancel := context.WithTimeout(ctx, l.timing.Dial)
	defer cancel()
	header, err := c.header(ctx)
	if err != nil {
		return nil, Reason{Cause: CauseHeader, Text: err.Error()}
	}
	raw := &rawConn{}
	// The library reads on after a 101 answer that is no good; this ends that.
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	transport := c.transport(raw)
	defer transport.CloseIdleConnections()
	upgrade := upgrader{base: transport, adopt: func(rwc io.ReadWriteCloser) io.ReadCloser {
		l.pipe = newPipe(rwc, raw, l.timing.Flush)
		return l.pipe
	}}
	//nolint:bodyclose // the library closes it
	ws, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport: upgrade,
			// The credentials in the header go nowhere but to the server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader:     header,
		OnPingReceived: l.onPing,
		OnPongReceived: l.onPong,
	})
	if err != nil {
		if l.pipe != nil {
			l.pipe.abort()
		}
		return nil, dialReason(target, resp, err)
	}
	l.ws = ws
	return resp.Header, Reason{}
}

// header returns the headers of the upgrade request.
func (c *Client) header(ctx context.Context) (http.Header, error) {
	h := http.Header{}
	if c.Header != nil {
		own, err := c.Header(ctx)
		if err != nil {
			return nil, fmt.Errorf("getting credentials: %w", err)
		}
		h = own.Clone()
		if h == nil {
			h = http.Header{}
		}
	}
	h.Set("Origin", origin)
	return h, nil
}

// transport makes the connection of one attempt.
func (c *Client) transport(raw *rawConn) *http.Transport {
	t := &http.Transport{
		Proxy:        c.Proxy,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only: it is an upgrade
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			if err == nil {
				raw.set(conn)
			}
			return conn, err
		},
	}
	if c.TLS != nil {
		t.TLSClientConfig = c.TLS.Clone()
	}
	if t.Proxy == nil {
		t.Proxy = http.ProxyFromEnvironment // which never applies to loopback
	}
	return t
}

// dialReason says why an attempt failed.
func dialReason(target string, resp *http.Response, err error) Reason {
	if resp == nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return Reason{Cause: CauseDial, Text: err.Error()}
	}
	html := strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "text/html")
	switch status := resp.StatusCode; {
	case status < 300, html && status == http.StatusNotFound:
		return Reason{Cause: CauseForeign, Code: status, Text: fmt.Sprintf(
			"%s answered HTTP %d (%s): there is no server that takes runners", redacted(target), status, resp.Header.Get("Content-Type"))}
	case status < 400:
		return Reason{Cause: CauseUpgrade, Code: status, Text: resp.Header.Get("Location")}
	default:
		return Reason{Cause: CauseUpgrade, Code: status, Text: http.StatusText(status)}
	}
}

// redacted is a URL without its password.
func redacted(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "the server"
	}
	return u.Redacted()
}

// upgrader puts our pipe in the place of the connection that a 101 answer
// hands over, so that it lies above TLS and proxies.
type upgrader struct {
	base  http.RoundTripper
	adopt func(io.ReadWriteCloser) io.ReadCloser
}

// RoundTrip implements http.RoundTripper.
func (u upgrader) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := u.base.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	rwc, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		_ = resp.Body.Close() // useless anyway
		return nil, fmt.Errorf("upgrading: the connection cannot be written to (%T)", resp.Body)
	}
	resp.Body = u.adopt(rwc)
	return resp, nil
}

// rawConn is the TCP connection below TLS, which closes without delay.
type rawConn struct {
	mu   sync.Mutex
	conn net.Conn
}

func (r *rawConn) set(conn net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn = conn
}

// Close implements io.Closer.
func (r *rawConn) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn == nil {
		return nil
	}
	return r.conn.Close()
}
