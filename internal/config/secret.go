package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	secretName = "secret"
	// maxSecret bounds a secret's file; ours hold 43 characters.
	maxSecret = 4096
)

// RunnerID is the id that belongs to a runner's secret (tunnel.md 2). Who
// knows the secret is the runner; the server checks just this.
func RunnerID(secret string) (string, error) {
	secret = strings.TrimSpace(secret)
	if secret == "" {
		return "", errors.New("the runner's secret is empty")
	}
	sum := sha256.Sum256([]byte("omnigent-runner:" + secret))
	return "runner_token_" + hex.EncodeToString(sum[:])[:32], nil
}

// ReadSecret reads a secret from a file that somebody else keeps. Space around
// it does not count; nothing but space is an error, as is a control character,
// which no header could carry.
func ReadSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading a secret: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("reading the secret %s: %w", path, err)
	}
	secret := strings.TrimSpace(string(text))
	switch {
	case len(text) > maxSecret:
		return "", fmt.Errorf("the secret file %s is larger than %d bytes", path, maxSecret)
	case secret == "":
		return "", fmt.Errorf("the secret file %s is empty", path)
	case strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("the secret file %s holds more than one line", path)
	}
	return secret, nil
}

// Secret is the runner's own secret: 32 random bytes in base64url, in a file of
// mode 0600, made at the first start. Losing the file means a new runner id.
func (r *Room) Secret() (string, error) {
	path := r.Path(secretName)
	secret, err := ReadSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	secret = base64.RawURLEncoding.EncodeToString(random)
	if err := writeWhole(path, secret+"\n"); err != nil {
		return "", fmt.Errorf("keeping the runner's secret: %w%s", err, advice(err))
	}
	return secret, nil
}

// writeWhole makes the file appear with all of its text, or not at all.
func writeWhole(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
