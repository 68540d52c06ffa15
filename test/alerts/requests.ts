/** Requests of tests of alerts to the management API. */

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
type Json = any;

interface Receiver {
  readonly url: string;
  readonly adminKey: string;
}

export async function sendAs({ url }: Receiver, key: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  const json = JSON.parse(text) as Json;
  return { status: response.status, text, data: json.data ?? json };
}

/** Creates a resource, by default as the administrator. Throws if the server refuses it. */
export async function createResource(
  server: Receiver,
  path: string,
  body: unknown,
  key = server.adminKey,
): Promise<Json> {
  const { status, text, data } = await sendAs(server, key, 'POST', path, body);
  if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
  return data;
}
