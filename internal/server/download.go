package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// downloadPiece is how much of a download is held at a time, in bytes.
const downloadPiece = 64 << 10

// downloadHeaders are those of a runner's answer that a download keeps.
var downloadHeaders = []string{"Content-Type", "Content-Disposition", "Content-Length"}

// download passes a file through as it comes (terminals.md 4.4). A transfer that
// breaks breaks the client's too: a file with a hole is none.
func (s *Server) download(w http.ResponseWriter, r *http.Request, ses *store.Session, c resourceCall) error {
	pr, err := s.here(ses)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	silence := time.AfterFunc(s.cfg.Timing.Download, func() { cancel(context.DeadlineExceeded) })
	defer silence.Stop()
	res, err := pr.open(ctx, ses.ID, c)
	if err != nil {
		return s.unanswered(c, errors.Join(err, context.Cause(ctx)))
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(io.LimitReader(res.Body, maxRunnerAnswer))
		if err != nil {
			return s.unanswered(c, err)
		}
		return c.refused(res.StatusCode, raw)
	}
	// It must stay a file: whatever is in it, it is no page of this server's.
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err != nil || kind != "attachment" {
		return detail(http.StatusBadGateway, "The runner is too old to send files: it answered with something else.")
	}
	h := w.Header()
	for _, k := range downloadHeaders {
		if v := res.Header.Get(k); v != "" {
			h.Set(k, v)
		}
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	return s.copyDownload(w, res.Body, silence)
}

func (s *Server) copyDownload(w http.ResponseWriter, from io.Reader, silence *time.Timer) error {
	rc := http.NewResponseController(w)
	buf := make([]byte, downloadPiece)
	for {
		n, err := from.Read(buf)
		silence.Reset(s.cfg.Timing.Download)
		if n > 0 {
			if derr := rc.SetWriteDeadline(time.Now().Add(s.cfg.Timing.ViewerWrite)); derr != nil {
				return derr
			}
			if _, werr := w.Write(buf[:n]); werr != nil {
				s.log.Debug("sending a file", "error", werr)
				return nil // the client left
			}
		}
		if errors.Is(err, io.EOF) {
			return rc.SetWriteDeadline(time.Time{})
		}
		if err != nil {
			s.log.Warn("a download broke off", "error", err)
			panic(http.ErrAbortHandler) // the headers are out: only a cut connection tells the client
		}
	}
}
