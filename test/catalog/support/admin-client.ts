import type { TestServer } from '../../support/server.js';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into JSON of any shape.
  body: any;
}

/** Asks the management API, each time on a connection of its own, so that any process may answer. */
export function adminClient(server: () => TestServer) {
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${server().url}/api/v1/admin${path}`, {
      method,
      headers: { 'x-api-key': server().adminKey, 'content-type': 'application/json', connection: 'close' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
}

/** Statuses of a path, asked so often that each of several processes answers. */
export async function statuses(server: TestServer, path: string, times = 12): Promise<number[]> {
  const all = await Promise.all(
    Array.from({ length: times }, () =>
      fetch(`${server.url}${path}`, { headers: { connection: 'close' } }).then(async (response) => {
        await response.arrayBuffer();
        return response.status;
      }),
    ),
  );
  return [...new Set(all)];
}
