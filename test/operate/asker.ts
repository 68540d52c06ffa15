// biome-ignore lint/suspicious/noExplicitAny: responses of any operation
type Json = any;

/** Sends a request to the management API as one caller. */
export type Asker = (
  method: string,
  path: string,
  body?: Json,
  headers?: Record<string, string>,
) => Promise<{ status: number; body: Json; etag: string | null }>;

export function createAsker(url: string, key: string): Asker {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? undefined : JSON.parse(text),
      etag: response.headers.get('etag'),
    };
  };
}
