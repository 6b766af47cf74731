// The server's JSON, as far as the pages read it. Every field of an answer may
// be missing or null: servers of other versions speak too.

export type Status = 'idle' | 'launching' | 'running' | 'waiting' | 'failed';

export interface TaskError {
  code: string;
  message: string;
  title?: string | null;
  cause?: string | null;
  remediation?: string | null;
  item_id?: string | null;
}

export interface Block {
  type: string;
  text?: string;
  filename?: string;
  file_id?: string;
  image_url?: string;
}

/** An item in the flat form of lists and live events. */
export interface Item {
  id: string;
  type: string;
  status?: string;
  response_id?: string;
  created_at?: number;
  role?: string;
  content?: string | Block[];
  model?: string;
  is_meta?: boolean;
  stream_message_id?: string | null;
  name?: string;
  arguments?: string;
  call_id?: string;
  output?: string;
  source?: string;
  code?: string;
  message?: string;
  level?: string | null;
  title?: string | null;
  cause?: string | null;
  remediation?: string | null;
  event_type?: string;
  resource_id?: string;
  resource_type?: string;
  resource?: Record<string, unknown> | null;
  summary?: unknown;
}

export interface Session {
  id: string;
  agent_id: string;
  agent_name: string | null;
  status: Status;
  title: string | null;
  created_at?: number;
  updated_at?: number | null;
  runner_id: string | null;
  runner_online: boolean | null;
  harness: string | null;
  kind?: string;
  sub_agent_name?: string | null;
  parent_session_id: string | null;
  root_conversation_id?: string | null;
  last_task_error: TaskError | null;
  pending_elicitations?: Question[];
  pending_inputs?: { pending_id: string; item_id?: string }[];
  active_response_id?: string | null;
  workspace?: string | null;
  archived?: boolean;
}

/** A row of the session list. */
export interface Row {
  id: string;
  agent_id: string;
  agent_name?: string | null;
  status: Status;
  title?: string | null;
  created_at: number;
  updated_at: number;
  runner_id?: string | null;
  runner_online?: boolean | null;
  pending_elicitations_count?: number;
  archived?: boolean;
  parent_session_id?: string | null;
}

export interface Child {
  id: string;
  parent_session_id?: string | null;
  title: string | null;
  tool: string | null;
  session_name: string | null;
  current_task_status: 'in_progress' | 'completed' | 'failed' | null;
  busy: boolean;
  last_task_error: TaskError | null;
  last_message_preview: string | null;
  pending_elicitations_count?: number;
  task_summary?: string | null;
}

export interface Question {
  elicitation_id: string;
  params: {
    mode?: string;
    message?: string;
    requestedSchema?: Schema | null;
    url?: string | null;
    phase?: string | null;
    policy_name?: string | null;
    content_preview?: string | null;
    target_session_id?: string | null;
  };
}

export interface Schema {
  properties?: Record<string, Property>;
  required?: string[];
}

export interface Property {
  type?: string;
  title?: string;
  description?: string;
  enum?: string[];
  default?: unknown;
  items?: { enum?: string[] };
}

export interface Agent {
  id: string;
  name: string;
  description?: string | null;
  harness?: string | null;
  terminals?: (string | { name: string })[];
}

export interface Runner {
  runner_id: string;
  online: boolean;
  harnesses?: string[];
}

/** A terminal, as a resource. */
export interface TerminalResource {
  id: string;
  type: string;
  name?: string | null;
  metadata?: { terminal_name?: string; session_key?: string; running?: boolean } | null;
}

export interface List<T> {
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** One event of a session's stream: its type and all else. */
export type StreamEvent = { type: string } & Record<string, unknown>;
