import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A STAC API of a test, which answers as it is told to. */
export interface StacApi {
  readonly origin: string;
  /** Method, path and query of each request. */
  readonly requests: string[];
  /** Bodies of those by POST. */
  readonly bodies: unknown[];
  answer: (request: IncomingMessage, response: ServerResponse, body: string) => void;
  close(): void;
}

export async function startStacApi(): Promise<StacApi> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString();
      api.requests.push(`${request.method} ${request.url}`);
      if (body !== '') api.bodies.push(JSON.parse(body));
      api.answer(request, response, body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api: StacApi = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    bodies: [],
    answer: (_, response) => response.writeHead(404).end(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return api;
}

export function sendJson(response: ServerResponse, document: unknown): void {
  response.writeHead(200, { 'content-type': 'application/geo+json' }).end(JSON.stringify(document));
}

/** The bytes of a file that are asked for, or all of them. */
export function sendRange(request: IncomingMessage, response: ServerResponse, file: Buffer): void {
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  if (first === undefined) return void response.writeHead(200).end(file);
  const part = file.subarray(Number(first), Number(last) + 1);
  const range = `bytes ${first}-${Number(first) + part.length - 1}/${file.length}`;
  response.writeHead(206, { etag: `"${file.length}"`, 'content-range': range }).end(part);
}

export const landing = (conformsTo: readonly string[] = [], method = 'GET') => ({
  stac_version: '1.0.0',
  type: 'Catalog',
  conformsTo,
  links: [{ rel: 'search', href: './search', method, type: 'application/geo+json' }],
});

export const page = (features: readonly unknown[], next?: object) => ({
  type: 'FeatureCollection',
  features,
  links: next ? [{ rel: 'next', ...next }] : [],
});

export const item = (id: string, members: Record<string, unknown> = {}) => ({
  type: 'Feature',
  stac_version: '1.0.0',
  id,
  collection: 'scenes',
  bbox: [10, 50, 11, 51],
  geometry: null,
  properties: { datetime: '2024-06-01T10:00:00Z' },
  links: [],
  assets: { data: { href: `./${id}.tif` } },
  ...members,
});
