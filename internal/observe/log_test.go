package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"testing"

	"github.com/lmittmann/tint"
	"github.com/stretchr/testify/require"
)

const canary = "c4nary-s3cret"

func TestNoSecretLeavesTheLog(t *testing.T) {
	address, err := url.Parse("https://me:" + canary + "@example.org/path")
	require.NoError(t, err)
	header := http.Header{
		"Authorization":                   {"Bearer " + canary},
		"Cookie":                          {"a=" + canary + "; b=" + canary},
		"X-Omnigent-Runner-Tunnel-Token":  {canary},
		"X-Something-That-May-Be-Printed": {"plain"},
	}
	inner, err := json.Marshal(map[string]any{"api_key": canary, "headers": header})
	require.NoError(t, err)
	records := map[string]func(*slog.Logger){
		"bearer in the message":  func(l *slog.Logger) { l.Info("sent Authorization: Bearer " + canary + " to the server") },
		"bearer in an attribute": func(l *slog.Logger) { l.Info("m", "header", "Bearer "+canary) },
		"basic":                  func(l *slog.Logger) { l.Info("m", "header", "Authorization: Basic "+canary) },
		"bare authorization":     func(l *slog.Logger) { l.Info("Authorization: " + canary) },
		"userinfo":               func(l *slog.Logger) { l.Info("m", "url", address.String()) },
		"userinfo in an error":   func(l *slog.Logger) { l.Info("m", "err", fmt.Errorf("dialing %s: %w", address, io.EOF)) },
		"query":                  func(l *slog.Logger) { l.Info("GET /x?a=1&access_token=" + canary + "&b=2") },
		"key":                    func(l *slog.Logger) { l.Info("m", "token", canary) },
		"key with more":          func(l *slog.Logger) { l.Info("m", "server_token", canary, "password", "two words "+canary) },
		"group":                  func(l *slog.Logger) { l.WithGroup("g").Info("m", slog.Group("h", "secret", canary)) },
		"with":                   func(l *slog.Logger) { l.With("api-key", canary).Info("m") },
		"header":                 func(l *slog.Logger) { l.Info("m", "header", header) },
		"header printed":         func(l *slog.Logger) { l.Info(fmt.Sprintf("%v", header)) },
		"prose":                  func(l *slog.Logger) { l.Info("the token: " + canary + canary) },
		"yaml":                   func(l *slog.Logger) { l.Info("server_token: " + canary) },
		"cookie":                 func(l *slog.Logger) { l.Info("Cookie: a=" + canary + "; b=" + canary) },
		"JSON inside a string":   func(l *slog.Logger) { l.Info("m", "body", string(inner)) },
		"struct": func(l *slog.Logger) {
			l.Info("m", "value", struct{ Name, Token string }{"n", canary})
		},
		"lazy": func(l *slog.Logger) { l.Info("m", "v", lazy{}) },
	}
	for name, log := range records {
		for _, format := range []string{Text, JSON, "colour"} {
			var out bytes.Buffer
			var secrets Secrets
			logger := slog.New(tint.NewTextHandler(secrets.Writer(&out), nil))
			if format != "colour" {
				logger, err = NewLogger(&out, "debug", format, &secrets)
				require.NoError(t, err)
			}
			log(logger)
			require.Contains(t, out.String(), "[redacted]", "%s, %s", name, format)
			require.NotContains(t, out.String(), canary, "%s, %s", name, format)
		}
	}
}

type lazy struct{}

func (lazy) LogValue() slog.Value { return slog.StringValue("Bearer " + canary) }

func TestKnownSecretsGoWhereverTheyStand(t *testing.T) {
	var out bytes.Buffer
	var secrets Secrets
	secrets.Add(canary, "short")
	logger, err := NewLogger(&out, "info", Text, &secrets)
	require.NoError(t, err)
	logger.Info("oops", "err", errors.New("bad frame near <"+canary+">, in short"))
	require.Contains(t, out.String(), "near <[redacted]>, in short")
}

func TestOrdinaryTextStays(t *testing.T) {
	var secrets Secrets
	for _, line := range []string{
		`level=INFO msg="turn done" session=0123456789abcdef max_tokens=4096 total_tokens:12`,
		`{"level":"INFO","msg":"tunnel up","runner":"runner_token_56a71354985f77c16b45bc3b7da1abde","usage":{"input_tokens":5}}`,
		`dialing ws://127.0.0.1:7171/v1/runners/runner_token_56a7/tunnel: refused`,
		`storing the server's token: write /var/lib/outrunner/server/token: no space left on device`,
		`reading a secret: open x: no such file`,
		`mail someone@example.org about the basic idea`,
	} {
		require.Equal(t, line, string(secrets.Redact([]byte(line))))
	}
}

func TestLevelAndFormat(t *testing.T) {
	var out bytes.Buffer
	logger, err := NewLogger(&out, "WARN", JSON, &Secrets{})
	require.NoError(t, err)
	logger.Info("quiet")
	logger.Warn("loud", "session", "s")
	var record map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &record))
	require.Equal(t, "loud", record["msg"])
	require.Equal(t, "s", record["session"])

	_, err = NewLogger(&out, "chatty", Text, &Secrets{})
	require.ErrorContains(t, err, `"chatty" is none of`)
	_, err = NewLogger(&out, "info", "xml", &Secrets{})
	require.ErrorContains(t, err, `"xml" is neither`)
}

func TestAFailedWriteIsReported(t *testing.T) {
	full := errors.New("disk full")
	_, err := (&Secrets{}).Writer(failing{full}).Write([]byte("line"))
	require.ErrorIs(t, err, full)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
