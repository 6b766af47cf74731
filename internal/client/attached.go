package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	// clipboardAfter is how soon after the user typed a program may set the
	// clipboard, and maxClipboard to how much, in bytes.
	clipboardAfter = 5 * time.Second
	maxClipboard   = 1 << 20
)

// carry serves one connection until it is over. The error is errComeBack unless
// the terminal has ended.
func (a *Attach) carry(ctx context.Context, ws *websocket.Conn) (AttachEnd, error) {
	a.hear()
	reading, cut := context.WithCancel(context.Background())
	defer cut()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	run := func(fn func()) {
		running.Go(func() {
			defer a.panicking()
			fn()
		})
	}
	sent := make(chan struct{})
	run(func() {
		defer close(sent)
		a.send(ctx, ws)
	})
	run(func() { a.watch(ctx, cut) })
	run(func() {
		<-ctx.Done()
		late := time.AfterFunc(leaveTimeout, cut)
		defer late.Stop()
		<-sent
		_ = ws.Close(websocket.StatusNormalClosure, "") // it may be closed, or gone
	})
	end, err := a.show(reading, ws)
	stop()
	running.Wait()
	return end, err
}

// panicking restores what must not stay as it is; the panic goes on.
func (a *Attach) panicking() {
	if v := recover(); v != nil {
		if a.Panicking != nil {
			a.Panicking()
		}
		panic(v)
	}
}

// send tells the size first, then what is typed and each new size. At the end
// it sends what is left: the user typed it before leaving.
func (a *Attach) send(ctx context.Context, ws *websocket.Conn) {
	write := func(kind websocket.MessageType, p []byte) bool {
		ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
		defer cancel()
		return ws.Write(ctx, kind, p) == nil // else the reader sees the end, too
	}
	size := func() bool {
		cols, rows := a.Size()
		return write(websocket.MessageText, fmt.Appendf(nil, `{"type":"resize","cols":%d,"rows":%d}`, cols, rows))
	}
	if !size() {
		return
	}
	for {
		for p := a.typed.next(); len(p) > 0; p = a.typed.next() {
			if !write(websocket.MessageBinary, p) {
				return
			}
			a.typed.sent(len(p))
		}
		if ctx.Err() != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-a.typed.more:
		case <-a.Resized:
			if !size() {
				return
			}
		}
	}
}

// watch cuts a connection on which nothing comes any more.
func (a *Attach) watch(ctx context.Context, cut func()) {
	tick := time.NewTicker(silence / 6)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if time.Since(time.Unix(0, a.heard.Load())) > silence {
			cut()
			return
		}
	}
}

// show writes to the screen until the connection is over.
func (a *Attach) show(ctx context.Context, ws *websocket.Conn) (AttachEnd, error) {
	for {
		kind, data, err := ws.Read(ctx)
		a.hear()
		if err != nil {
			return ending(err)
		}
		if kind == websocket.MessageText {
			data = a.control(data)
		}
		if len(data) == 0 {
			continue
		}
		if a.fresh && a.Fresh != nil {
			a.Fresh()
		}
		a.fresh = false
		if _, err := a.Screen.Write(data); err != nil {
			return AttachEnd{}, fmt.Errorf("writing to the screen: %w", err)
		}
	}
}

// ending is what the end of a connection means.
func ending(err error) (AttachEnd, error) {
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		if errors.Is(err, context.Canceled) {
			err = errors.New("the server is silent")
		}
		return AttachEnd{}, fmt.Errorf("%w: %w", errComeBack, err)
	}
	end := AttachEnd{Code: int(closed.Code), Reason: closed.Reason}
	if !comesBack(end.Code) {
		return end, nil
	}
	why := end.Reason
	if why == "" {
		why = fmt.Sprintf("code %d", end.Code)
	}
	return end, fmt.Errorf("%w: %s", errComeBack, why)
}

// control is what the screen gets for a control message: a program in the
// terminal may set the clipboard of whoever has just typed.
func (a *Attach) control(raw []byte) []byte {
	var m struct{ Type, Encoding, Data string }
	if json.Unmarshal(raw, &m) != nil || m.Type != "clipboard-write" || m.Encoding != "base64" {
		return nil
	}
	if time.Since(time.Unix(0, a.typedAt.Load())) > clipboardAfter {
		return nil
	}
	text, err := base64.StdEncoding.Strict().DecodeString(m.Data)
	if err != nil || len(text) == 0 || len(text) > maxClipboard {
		return nil
	}
	return []byte("\x1b]52;c;" + base64.StdEncoding.EncodeToString(text) + "\x07")
}
