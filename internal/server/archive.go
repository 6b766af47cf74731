package server

import (
	"context"
	"strconv"
	"time"

	"github.com/outrunner/outrunner/internal/server/store"
)

// labelArchivedAt says since when a session is archived, in unix seconds.
const labelArchivedAt = "omnigent.archived_at"

// labelArchived keeps the label in line with the session.
func labelArchived(tx *store.Tx, ses *store.Session) error {
	if !ses.Archived {
		return tx.DropLabel(ses.ID, labelArchivedAt)
	}
	if ses.Labels[labelArchivedAt] != "" {
		return nil
	}
	return tx.SetLabels(ses.ID, map[string]string{labelArchivedAt: strconv.FormatInt(tx.Now(), 10)})
}

// stopArchived stops a session that still runs when its user has had time to
// take the archiving back.
func (s *Server) stopArchived(session string) {
	s.tasks.start(func(ctx context.Context) {
		undo := time.NewTimer(s.cfg.Timing.ArchiveStop)
		defer undo.Stop()
		select {
		case <-undo.C:
		case <-ctx.Done():
			return
		}
		ses, err := s.db.Read().Session(ctx, session)
		if err != nil || !ses.Archived || !inTurn(ses.Status) {
			return
		}
		if _, err := s.onStop(ctx, Principal{Owner: ses.Owner}, session, inputEvent{}); err != nil {
			s.log.Warn("an archived session could not be stopped", "session", session, "error", err)
		}
	})
}
