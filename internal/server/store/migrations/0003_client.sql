-- A file that belongs to a session; its bytes are in the server's folder.
CREATE TABLE files (
  n            INTEGER PRIMARY KEY AUTOINCREMENT, -- order of arrival
  id           TEXT NOT NULL UNIQUE,
  session      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  name         TEXT NOT NULL,
  content_type TEXT NOT NULL,
  bytes        INTEGER NOT NULL,
  created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX files_session ON files (session, n);

-- A question to a human that nobody has answered yet: one row in the session
-- that asks (target = session) and one in each session above it.
CREATE TABLE elicitations (
  n       INTEGER PRIMARY KEY AUTOINCREMENT, -- order of asking
  id      TEXT NOT NULL,
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  target  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  turn    INTEGER NOT NULL,                  -- 1: the end of the turn ends the question
  event   TEXT NOT NULL,                     -- JSON: the request as shown in that session
  UNIQUE (session, id)
) STRICT;
CREATE INDEX elicitations_target ON elicitations (target);

-- What the user has seen of a session.
ALTER TABLE sessions ADD COLUMN last_seen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
