CREATE TABLE runners (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  harnesses  TEXT NOT NULL DEFAULT '[]', -- JSON list, from the last hello
  first_seen INTEGER NOT NULL,
  last_seen  INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  name       TEXT NOT NULL,
  source     TEXT NOT NULL,              -- builtin, file, upload
  digest     TEXT NOT NULL,              -- sha256 of the content, hex
  content    BLOB NOT NULL,              -- the agent's YAML
  version    INTEGER NOT NULL,           -- counts the contents seen under this id
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  n                   INTEGER PRIMARY KEY AUTOINCREMENT, -- order of creation
  id                  TEXT NOT NULL UNIQUE,
  owner               TEXT NOT NULL,
  agent_id            TEXT NOT NULL,
  agent_name          TEXT NOT NULL,
  title               TEXT NOT NULL DEFAULT '',
  status              TEXT NOT NULL DEFAULT 'idle',
  error               TEXT NOT NULL DEFAULT '', -- JSON of last_task_error, or nothing
  response_id         TEXT NOT NULL DEFAULT '', -- the running response
  runner_id           TEXT NOT NULL DEFAULT '',
  parent_id           TEXT NOT NULL DEFAULT '',
  root_id             TEXT NOT NULL,
  sub_agent_name      TEXT NOT NULL DEFAULT '',
  workspace           TEXT NOT NULL DEFAULT '',
  model_override      TEXT NOT NULL DEFAULT '',
  harness_override    TEXT NOT NULL DEFAULT '',
  reasoning_effort    TEXT NOT NULL DEFAULT '',
  external_session_id TEXT NOT NULL DEFAULT '',
  archived            INTEGER NOT NULL DEFAULT 0,
  settings            TEXT NOT NULL DEFAULT '{}', -- JSON: what is only kept and shown
  last_seq            INTEGER NOT NULL DEFAULT 0, -- of the newest event
  created_at          INTEGER NOT NULL,
  updated_at          INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_runner  ON sessions (runner_id);
CREATE INDEX sessions_parent  ON sessions (parent_id);
CREATE INDEX sessions_updated ON sessions (updated_at, n);

CREATE TABLE labels (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,
  PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE items (
  n           INTEGER PRIMARY KEY AUTOINCREMENT, -- order in the session
  id          TEXT NOT NULL UNIQUE,
  session     TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  response_id TEXT NOT NULL,
  type        TEXT NOT NULL,
  status      TEXT NOT NULL,
  data        TEXT NOT NULL,             -- JSON object: the fields of the type
  source_id   TEXT,                      -- the producer's name for it
  stable_id   TEXT,                      -- the client's name for it
  call_id     TEXT NOT NULL DEFAULT '',
  created_by  TEXT NOT NULL DEFAULT '',
  created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX items_session ON items (session, n);
CREATE INDEX items_call ON items (session, call_id);
CREATE UNIQUE INDEX items_source ON items (session, source_id) WHERE source_id IS NOT NULL;
CREATE UNIQUE INDEX items_stable ON items (session, stable_id) WHERE stable_id IS NOT NULL;

-- A user's message that no runner has accepted yet.
CREATE TABLE pending (
  n       INTEGER PRIMARY KEY,           -- items.n: the order of forwarding
  item    TEXT NOT NULL UNIQUE REFERENCES items (id) ON DELETE CASCADE,
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  extra   TEXT NOT NULL                  -- JSON object: what the forward carries besides the item
) STRICT;
CREATE INDEX pending_session ON pending (session, n);

CREATE TABLE responses (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  id      TEXT NOT NULL,
  status  TEXT NOT NULL,                 -- in_progress, lost, or how it ended
  model   TEXT NOT NULL,
  inputs  TEXT NOT NULL,                 -- JSON list of item ids
  PRIMARY KEY (session, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX responses_open ON responses (session) WHERE status = 'in_progress';

CREATE TABLE events (
  session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq     INTEGER NOT NULL,
  type    TEXT NOT NULL,
  data    TEXT NOT NULL,                 -- JSON object as published
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
