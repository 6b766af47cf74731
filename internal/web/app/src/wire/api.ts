import type { Agent, Child, Item, List, Row, Runner, Session, TerminalResource } from './types';

/** A refusal of the server, or status 0 when it was not reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** The request may be sent again as it is: nothing says that it can not work. */
  get passing(): boolean {
    return this.status === 0 || this.status >= 500 || this.status === 408 || this.status === 429;
  }
}

/** Asks our server for what it tells beyond the common API. */
export const EXTRAS = { 'X-Outrunner-Extras': '1' };

/** A request that is not answered for so long has failed, in milliseconds. */
const PATIENCE = 30_000;

async function call<T>(method: string, path: string, body?: unknown, patience = PATIENCE): Promise<T> {
  const headers: Record<string, string> = { ...EXTRAS };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      signal: AbortSignal.timeout(patience),
    });
  } catch {
    throw new ApiError(0, 'unreachable', 'The server does not answer.');
  }
  let json: unknown = null;
  try {
    json = answer.status === 204 ? null : await answer.json();
  } catch {
    if (answer.ok) throw new ApiError(0, 'malformed', 'The server sent something that is no answer.');
  }
  if (!answer.ok) throw refusal(answer.status, json);
  return json as T;
}

/** Reads the three forms in which servers say no. */
export function refusal(status: number, json: unknown): ApiError {
  const body = (json ?? {}) as { error?: { code?: string; message?: string } | string; detail?: unknown };
  if (typeof body.error === 'object' && body.error) {
    return new ApiError(
      status,
      body.error.code ?? 'error',
      body.error.message ?? `The server answered ${status}.`,
    );
  }
  if (typeof body.error === 'string') return new ApiError(status, 'error', body.error);
  if (typeof body.detail === 'string') return new ApiError(status, 'error', body.detail);
  if (Array.isArray(body.detail)) {
    const words = body.detail.map(
      (d: { loc?: unknown[]; msg?: string }) => `${(d.loc ?? []).join('.')}: ${d.msg ?? ''}`,
    );
    return new ApiError(status, 'invalid', words.join('; '));
  }
  return new ApiError(status, 'error', `The server answered ${status}.`);
}

const one = (id: string) => `/v1/sessions/${encodeURIComponent(id)}`;
const terminals = (id: string) => `${one(id)}/resources/terminals`;

export const api = {
  health: (patience: number) => call<{ status: string }>('GET', '/health', undefined, patience),
  healthOf: (ids: string[]) =>
    call<{ sessions?: Record<string, { runner_online: boolean | null }> }>(
      'GET',
      `/health?session_ids=${ids.join(',')}`,
    ),
  agents: () => call<List<Agent>>('GET', '/v1/agents?limit=1000'),
  runners: () => call<{ data: Runner[] }>('GET', '/v1/runners'),
  sessions: (limit: number) =>
    call<List<Row>>('GET', `/v1/sessions?limit=${limit}&order=desc&sort_by=updated_at&kind=default`),
  session: (id: string) => call<Session>('GET', `${one(id)}?include_items=false`),
  items: (id: string, limit: number, before?: string) =>
    call<List<Item>>('GET', `${one(id)}/items?limit=${limit}&order=desc${before ? `&after=${before}` : ''}`),
  children: (id: string) => call<List<Child>>('GET', `${one(id)}/child_sessions?limit=200&order=asc`),
  agentOf: (id: string) => call<Agent>('GET', `${one(id)}/agent`),
  create: (body: { agent_id: string; runner_id?: string }) => call<Session>('POST', '/v1/sessions', body),
  patch: (id: string, body: Record<string, unknown>) => call<Session>('PATCH', one(id), body),
  remove: (id: string) => call<unknown>('DELETE', one(id)),
  post: (id: string, event: { type: string; data?: unknown }) =>
    call<{ queued: boolean; item_id?: string; denied?: boolean; reason?: string }>(
      'POST',
      `${one(id)}/events`,
      event,
    ),
  resolve: (id: string, question: string, action: string, content?: unknown) =>
    call<unknown>('POST', `${one(id)}/elicitations/${encodeURIComponent(question)}/resolve`, {
      action,
      content,
    }),
  terminals: (id: string) => call<List<TerminalResource>>('GET', `${terminals(id)}?order=asc&limit=1000`),
  openTerminal: (id: string, terminal: string, key: string) =>
    call<TerminalResource>('POST', terminals(id), { terminal, session_key: key }),
  closeTerminal: (id: string, terminal: string) =>
    call<unknown>('DELETE', `${terminals(id)}/${encodeURIComponent(terminal)}`),
};
