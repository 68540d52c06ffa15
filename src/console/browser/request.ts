/** A member of a request that the server refused. */
export interface RequestFault {
  readonly name: string;
  readonly detail: string;
}

export interface RequestSuccess<T> {
  readonly value: T;
  readonly etag: string | null;
}

export interface RequestFailure {
  /** Text for people. */
  readonly problem: string;
  readonly status: number;
  readonly errors: readonly RequestFault[];
}

export type RequestMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';
export type RequestResult<T> = RequestSuccess<T> | RequestFailure;

/** Sends a request to this server. Responses of the management API are unwrapped. */
export async function sendJson<T>(
  method: RequestMethod,
  url: string,
  body?: unknown,
  etag?: string | null,
  signal?: AbortSignal,
): Promise<RequestResult<T>> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (etag) headers['if-match'] = etag;
  try {
    const text = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(url, { method, headers, body: text, signal: signal ?? null });
    const value = (await response.json().catch(() => undefined)) as Record<string, unknown> | undefined;
    if (response.ok) return { value: (value?.['data'] ?? value) as T, etag: response.headers.get('etag') };
    return describeFailure(response.status, value);
  } catch {
    return { problem: 'The server does not respond. Try again.', status: 0, errors: [] };
  }
}

function describeFailure(status: number, document: Record<string, unknown> | undefined): RequestFailure {
  const { detail, errors } = (document ?? {}) as { detail?: string; errors?: RequestFault[] };
  if (status === 412)
    return { problem: 'Another person changed it in the meantime. Reload the page.', status, errors: [] };
  if (status === 401) return { problem: 'Your session has ended. Sign in again.', status, errors: [] };
  return { problem: detail ?? `The server returned ${status}.`, status, errors: errors ?? [] };
}
