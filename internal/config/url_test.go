package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServerURL(t *testing.T) {
	for raw, want := range map[string]string{
		"http://127.0.0.1:7171":                "http://127.0.0.1:7171",
		" https://example.org/base/?q=1#frag ": "https://example.org/base",
		"HTTPS://[::1]:80/":                    "https://[::1]:80",
	} {
		u, err := ServerURL(raw)
		require.NoError(t, err)
		require.Equal(t, want, u.String())
	}
	for raw, want := range map[string]string{
		"":                          "must start with http:// or https://",
		"localhost:7171":            "must start with http:// or https://",
		"ws://localhost":            "must start with http:// or https://",
		"http://":                   "has no host",
		"http://:80":                "has no host",
		"http://me:hunter2@host":    "--server-token-file",
		"http://me:hunter2@host:x/": "not a URL",
		"http://host:port":          "not a URL",
	} {
		_, err := ServerURL(raw)
		require.ErrorContains(t, err, want, raw)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestLoopback(t *testing.T) {
	for _, host := range []string{"localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.8.8.8", "::1", "[::1]", "::ffff:127.0.0.1"} {
		require.True(t, Loopback(host), host)
	}
	for _, host := range []string{"", "localhost.example.org", "notlocalhost", "10.0.0.1", "0.0.0.0", "::", "example.org", "127.0.0.1.example.org"} {
		require.False(t, Loopback(host), host)
	}
}

func TestListenAddress(t *testing.T) {
	for _, good := range []string{"127.0.0.1:7171", ":0", "[::1]:80", "localhost:80"} {
		require.NoError(t, ListenAddress(good))
	}
	for _, bad := range []string{"", "7171", "127.0.0.1", "127.0.0.1:99999", "a:b:c"} {
		require.Error(t, ListenAddress(bad), bad)
	}
}
