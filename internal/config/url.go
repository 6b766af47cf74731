package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// ServerURL reads the server's base URL: http or https, a host, perhaps a path
// without its last slash. Query and fragment are dropped; a name and password
// in it are refused, because they would end up in logs and process lists.
func ServerURL(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err // without the URL itself, which may hold a password
		}
		return nil, fmt.Errorf("the server URL is not a URL: %w", err)
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the server URL holds a name or password; give the server's token with --server-token-file instead")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the server URL %q must start with http:// or https://", raw)
	case u.Hostname() == "":
		return nil, fmt.Errorf("the server URL %q has no host", raw)
	}
	return &url.URL{Scheme: strings.ToLower(u.Scheme), Host: u.Host, Path: strings.TrimRight(u.Path, "/")}, nil
}

// Loopback reports whether a host (without a port) is this machine's loopback
// by its name or address. It asks no resolver: what a resolver says can change.
func Loopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}

// ListenAddress checks a host:port to listen on.
func ListenAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("the listen address %q is not host:port, like 127.0.0.1:7171", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("the listen address %q has no usable port", address)
	}
	return nil
}
