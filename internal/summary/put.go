package summary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/outrunner/outrunner/runner/wire"
)

const (
	// maxAnswer is the largest answer that is read, in bytes.
	maxAnswer = 4 << 20
	// maxReason bounds what an error repeats of a service's words, in bytes.
	maxReason = 500
)

// put asks a service once. The server tries again as it sees fit.
func (s *Summarizer) put(ctx context.Context, to service, conversation string) (wire.Summary, error) {
	req, err := to.speak.request(ctx, to, conversation)
	if err != nil {
		return wire.Summary{}, err
	}
	resp, err := s.client().Do(req)
	if err != nil {
		return wire.Summary{}, fmt.Errorf("asking %s: %w", to.provider, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end or given up
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return wire.Summary{}, fmt.Errorf("reading the answer of %s: %w", to.provider, err)
	case resp.StatusCode != http.StatusOK:
		return wire.Summary{}, fmt.Errorf("%s answered %d: %s", to.provider, resp.StatusCode, to.hide(reason(raw)))
	case len(raw) > maxAnswer:
		return wire.Summary{}, fmt.Errorf("the answer of %s is over 4 MiB", to.provider)
	}
	text, tokens, err := to.speak.answer(raw)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("it has no text")
	}
	if err != nil {
		return wire.Summary{}, fmt.Errorf("the answer of %s is no summary: %s", to.provider, to.hide(err.Error()))
	}
	if tokens <= 0 {
		tokens = (len(text) + 3) / 4 // the usual rule of thumb, where nobody counted
	}
	return wire.Summary{Text: text, Tokens: tokens}, nil
}

func (s *Summarizer) client() *http.Client {
	own := http.Client{}
	if s.HTTP != nil {
		own = *s.HTTP
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// reason finds the sentence in the error shape that both wires share.
func reason(raw []byte) string {
	var shape struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := strings.TrimSpace(string(raw))
	if json.Unmarshal(raw, &shape) == nil && shape.Error.Message != "" {
		text = shape.Error.Message
	}
	if len(text) > maxReason {
		cut := maxReason
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// hide takes the key out of what a service says.
func (s service) hide(text string) string {
	if s.key == "" {
		return text
	}
	return strings.ReplaceAll(text, s.key, "[key]")
}

// refusal is a sentence for the user that is a wire.ErrRejected.
type refusal string

func (r refusal) Error() string        { return string(r) }
func (r refusal) Is(target error) bool { return target == wire.ErrRejected }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
