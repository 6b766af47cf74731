package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/outrunner/outrunner/internal/server/store"
)

// maxWatch bounds a watch message, in bytes.
const maxWatch = 64 << 10

// getUpdates is WS /v1/sessions/updates (server.md 3): a list of sessions stays
// fresh. The client says which ones it shows, and gets their rows, then the rows
// that change, new sessions, and which are gone.
func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request) error {
	if !isUpgrade(r) {
		return s.notFound(w, r)
	}
	ctx, _, leave := s.tasks.join(context.WithoutCancel(r.Context()))
	if leave == nil {
		return refuse(http.StatusServiceUnavailable, "shutting_down", "The server is stopping; come back.")
	}
	defer leave()
	k, err := s.accept(w, r, maxWatch)
	if err != nil {
		return nil //nolint:nilerr // the library has answered
	}
	u := &updates{s: s, socket: k, owner: principal(r).Owner, asked: make(chan []string, 1), rows: map[string][]byte{}}
	u.run(ctx)
	return nil
}

// updates is one client of getUpdates.
type updates struct {
	*socket
	s     *Server
	owner string
	asked chan []string     // the newest watch that was not answered
	rows  map[string][]byte // as told last
	w     *watcher
}

func (u *updates) run(ctx context.Context) {
	u.w = u.s.watchers.join()
	defer u.s.watchers.leave(u.w)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var running sync.WaitGroup
	running.Go(func() {
		if !u.keepAlive(ctx) {
			end(&ended{closeTryAgain, "the browser is silent"})
		}
	})
	running.Go(func() { end(u.tell(ctx)) })
	incoming := make(chan struct{})
	go func() { // ends with the socket
		defer close(incoming)
		end(u.listen())
	}()
	<-ctx.Done()
	why := &ended{closeStopping, "server restarts"}
	_ = errors.As(context.Cause(ctx), &why) // or it stays
	u.end(why.code, why.reason)
	running.Wait()
	<-incoming
}

// listen reads what the client watches. Ids that are none are left out.
func (u *updates) listen() *ended {
	for {
		data, text, err := u.read()
		if websocket.CloseStatus(err) == -1 && err != nil {
			return &ended{closeNormal, "the browser went away"}
		}
		if err != nil {
			return &ended{closeNormal, ""}
		}
		var in struct {
			Type       string   `json:"type"`
			SessionIDs []string `json:"session_ids"`
		}
		if !text || json.Unmarshal(data, &in) != nil || in.Type != "watch" {
			continue
		}
		ids := []string{}
		for _, id := range in.SessionIDs {
			if id = bareID(id); isID(id) && len(ids) < maxWatched {
				ids = append(ids, id)
			}
		}
		select { // only the newest counts
		case <-u.asked:
		default:
		}
		u.asked <- ids
	}
}

// tell writes until ctx ends or the client does not take it.
func (u *updates) tell(ctx context.Context) *ended {
	slow := &ended{closeTryAgain, "the browser is too slow"}
	beat := time.NewTimer(u.timing.SocketPing)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case ids := <-u.asked:
			err = u.snapshot(ctx, ids)
		case <-u.w.wake:
			if !pauseFor(ctx, u.timing.UpdatesGather) {
				return nil
			}
			err = u.changes(ctx)
		case <-beat.C:
			err = u.say("heartbeat", "", nil)
		}
		var storage storageError
		switch {
		case errors.As(err, &storage):
			u.s.log.Error("reading the sessions of a list", "error", storage.error)
			return &ended{closeTryAgain, "the server's database cannot be read"}
		case err != nil:
			return slow
		}
		beat.Reset(u.timing.SocketPing)
	}
}

// storageError tells a failing database from a failing socket.
type storageError struct{ error }

// snapshot answers a watch.
func (u *updates) snapshot(ctx context.Context, ids []string) error {
	u.s.watchers.watch(u.w, ids) // first: what changes from now on is heard of
	clear(u.rows)
	items, _, err := u.fresh(ctx, ids)
	if err != nil {
		return err
	}
	if err := u.say("snapshot", "items", items); err != nil {
		return err
	}
	gone := slices.DeleteFunc(ids, func(id string) bool { return u.rows[id] != nil })
	if len(gone) == 0 {
		return nil
	}
	u.s.watchers.forget(u.w, gone)
	return u.say("removed", "ids", gone)
}

// changes tells the rows that are not what they were told to be.
func (u *updates) changes(ctx context.Context) error {
	items, gone, err := u.fresh(ctx, u.s.watchers.take(u.w))
	if err == nil && len(items) > 0 {
		err = u.say("changed", "items", items)
	}
	if err == nil && len(gone) > 0 {
		u.s.watchers.forget(u.w, gone)
		err = u.say("removed", "ids", gone)
	}
	return err
}

// fresh reads rows and leaves out those that were told already.
func (u *updates) fresh(ctx context.Context, ids []string) (items []json.RawMessage, gone []string, err error) {
	items = []json.RawMessage{}
	if len(ids) == 0 {
		return items, nil, nil
	}
	list, err := u.s.db.Read().SessionsByID(ctx, ids)
	if err != nil {
		return nil, nil, storageError{err}
	}
	found := make(map[string]bool, len(list))
	for _, ses := range list {
		if ses.Owner != u.owner {
			continue
		}
		found[ses.ID] = true
		row := listRow(ses)
		row["runner_online"], row["host_online"] = u.s.online(ses), nil
		raw, err := store.Encode(row)
		if err != nil {
			return nil, nil, storageError{err}
		}
		if !bytes.Equal(raw, u.rows[ses.ID]) {
			u.rows[ses.ID] = raw
			items = append(items, raw)
		}
	}
	for _, id := range ids {
		if _, told := u.rows[id]; told && !found[id] {
			delete(u.rows, id)
			gone = append(gone, id)
		}
	}
	return items, gone, nil
}

func (u *updates) say(typ, key string, value any) error {
	message := dict{"type": typ}
	if key != "" {
		message[key] = value
	}
	raw, err := store.Encode(message)
	if err != nil {
		return err
	}
	return u.write(raw, true)
}

// pauseFor waits, and says whether ctx still goes on.
func pauseFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
