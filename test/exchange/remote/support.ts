import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { stringifyExactly } from '../../../src/core/values/json.js';
import type { TestServer } from '../../support/server.js';
import type { SharedServer } from '../../support/shared-server.js';

/** An address of the loopback that no name leads to. */
export const REMOTE_HOST = '127.0.0.2';

/** A small server of a test's own, on the loopback. */
export interface Remote {
  readonly url: string;
  /** Paths and queries that were asked, in their order. */
  readonly asked: string[];
  close(): Promise<void>;
}

export type Handler = (url: URL, response: ServerResponse, request: IncomingMessage) => void;

export async function startRemote(handle: Handler): Promise<Remote> {
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request.url!);
    handle(new URL(request.url!, 'http://remote'), response, request);
  }).listen(0, REMOTE_HOST);
  await once(server, 'listening');
  return {
    url: `http://${REMOTE_HOST}:${(server.address() as AddressInfo).port}`,
    asked,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function sendJson(response: ServerResponse, body: unknown, type = 'application/json', status = 200) {
  response.writeHead(status, { 'content-type': type }).end(stringifyExactly(body));
}

export type Json = Record<string, unknown>;

export interface CallReply {
  status: number;
  body: Json;
}

/** Calls the management API as the administrator. */
export async function call(
  server: TestServer,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<CallReply> {
  const answer = await fetch(`${server.url}/api/v1/admin${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? {} : JSON.parse(text) };
}

/** Files of imports that lie in the data folder, other than the store itself. */
export function leftovers(server: TestServer): string[] {
  const list = (folder: string) => {
    try {
      return readdirSync(join(server.dataDir, folder), { recursive: true }).map(String);
    } catch {
      return [];
    }
  };
  return [...list('uploads'), ...list('staging')];
}

/** Ids of the published collections. */
export async function collections(server: TestServer): Promise<string[]> {
  const answer = await fetch(`${server.url}/ogc/features/collections?f=json`);
  const { collections } = (await answer.json()) as { collections: { id: string }[] };
  return collections.map(({ id }) => id);
}

export async function itemsOf(server: SharedServer, id: string, query = ''): Promise<Json> {
  const answer = await fetch(`${server.url}/ogc/features/collections/${id}/items?f=json&${query}`);
  return (await answer.json()) as Json;
}
