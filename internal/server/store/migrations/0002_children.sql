-- The tree of an agent as JSON; '' in rows from before there were trees, whose
-- content is one YAML file. In all others the content is a bundle.
ALTER TABLE agents ADD COLUMN spec TEXT NOT NULL DEFAULT '';

-- How the newest task of a session ended: completed, failed, cancelled; open
-- while it has one, and nothing before the first.
ALTER TABLE sessions ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
UPDATE sessions SET outcome = CASE
  WHEN EXISTS (SELECT 1 FROM pending WHERE pending.session = sessions.id) THEN 'open'
  WHEN status IN ('running', 'waiting', 'launching') THEN 'open'
  WHEN status = 'failed' THEN 'failed'
  WHEN EXISTS (SELECT 1 FROM items WHERE items.session = sessions.id AND type = 'message' AND data ->> 'role' = 'assistant') THEN 'completed'
  ELSE '' END;
