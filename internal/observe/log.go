package observe

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/mattn/go-isatty"
)

// Formats of a log.
const (
	Text = "text"
	JSON = "json"
)

// NewLogger writes records of at least level ("debug", "info", "warn",
// "error") to w in the given format. Everything that goes out is redacted as
// secrets says. Text is in colour when w is a terminal and NO_COLOR is unset.
func NewLogger(w io.Writer, level, format string, secrets *Secrets) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q is none of debug, info, warn, error", level)
	}
	sink := secrets.Writer(w)
	switch format {
	case Text:
		return slog.New(tint.NewTextHandler(sink, &tint.Options{
			Level: least, TimeFormat: time.TimeOnly, NoColor: !colour(w),
		})), nil
	case JSON:
		return slog.New(slog.NewJSONHandler(sink, &slog.HandlerOptions{Level: least})), nil
	}
	return nil, fmt.Errorf("log format %q is neither text nor json", format)
}

func colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && isatty.IsTerminal(f.Fd())
}
