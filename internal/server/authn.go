package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
)

const (
	// ownerLocal owns every row: one server, one user.
	ownerLocal = "local"
	// headerClaim carries a runner's secret; it proves the runner's id.
	headerClaim = "X-Omnigent-Runner-Tunnel-Token"
	// tokenFile lies in the server's folder.
	tokenFile = "token"
)

// Principal is who sent a request.
type Principal struct {
	Owner string
	// Runner is the runner id that the request's claim proves, "" without one.
	Runner string
}

// authn says who sent a request. A peer on loopback under a name of this
// machine is the user; everybody else must bring the token. A proxy on this
// machine is on loopback too, so a forwarded request and one under a public
// name also need it. A browser brings it once (signin.go).
func (s *Server) authn(r *http.Request) (Principal, error) {
	p := Principal{Owner: ownerLocal}
	if secret := r.Header.Get(headerClaim); secret != "" {
		p.Runner = runnerID(secret)
	}
	if onLoopback(r) && !s.publicHost(r.Host) && !forwarded(r) {
		return p, nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok && sameSecret(strings.TrimSpace(given), s.token) || s.signedIn(r) {
		return p, nil
	}
	return Principal{}, refuse(http.StatusUnauthorized, "unauthorized",
		"This server needs its token from peers that are not on this machine: send it as \"Authorization: Bearer\" (it is in the file %q of the server's state folder).", tokenFile)
}

// runnerID is the id that a runner's secret proves (tunnel.md 2).
func runnerID(secret string) string {
	sum := sha256.Sum256([]byte("omnigent-runner:" + secret))
	return "runner_token_" + hex.EncodeToString(sum[:])[:32]
}

// sameSecret compares in constant time, the lengths included.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return b != "" && subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func onLoopback(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

func forwarded(r *http.Request) bool {
	return r.Header.Get("Forwarded") != "" || r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("X-Real-Ip") != ""
}

// loadToken reads the server's token, or makes one at the first start.
func loadToken(dir string) (string, error) {
	path := filepath.Join(dir, tokenFile)
	b, err := os.ReadFile(path)
	if err == nil {
		if token := strings.TrimSpace(string(b)); token != "" {
			return token, nil
		}
		return "", fmt.Errorf("reading the server's token: %s is empty; remove it and a new one is made", path)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading the server's token: %w", err)
	}
	var raw [32]byte
	rand.Read(raw[:]) // never fails (crypto/rand, Go 1.24)
	token := base64.RawURLEncoding.EncodeToString(raw[:])
	if err := writeSecret(path, token+"\n"); err != nil {
		return "", fmt.Errorf("storing the server's token: %w", err)
	}
	return token, nil
}

// writeSecret makes a file that only this user can read, all or nothing.
func writeSecret(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".token-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
