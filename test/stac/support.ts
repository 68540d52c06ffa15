import { expect } from 'vitest';
import type { SharedServer } from '../support/shared-server.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
export type Json = any;

export interface StacClient {
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  json(path: string): Promise<Json>;
  post(body: unknown): Promise<Response>;
  /** Status, and the name of the wrong parameter. */
  refusal(path: string): Promise<[number, string | undefined]>;
  /** `collection/id` of the items that are found, in their order. */
  found(query: string | object): Promise<string[]>;
}

/** Asks a server for what is below /stac. */
export function stacClient(server: () => SharedServer): StacClient {
  const get: StacClient['get'] = (path, headers = {}) =>
    fetch(path.startsWith('http') ? path : `${server().url}/stac${path}`, { headers });
  const post: StacClient['post'] = (body) =>
    fetch(`${server().url}/stac/search`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const json: StacClient['json'] = async (path) => {
    const response = await get(path);
    expect(response.status, path).toBe(200);
    return response.json();
  };
  return {
    get,
    post,
    json,
    async refusal(path) {
      const response = await get(path);
      const body: Json = await response.json();
      return [response.status, body.errors?.[0]?.name];
    },
    async found(query) {
      const response = typeof query === 'string' ? await get(`/search?${query}`) : await post(query);
      expect(response.status, JSON.stringify(query)).toBe(200);
      const { features }: Json = await response.json();
      return features.map(({ collection, id }: Json) => `${collection}/${id}`);
    },
  };
}
