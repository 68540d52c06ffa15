import type { TestServer } from '../support/server.js';

/** Table of the requests that tests send. */
export const CARS_SQL = `
  CREATE TABLE cars (fid serial PRIMARY KEY, geom geometry(Point, 4326), name text);
  CREATE INDEX ON cars USING gist (geom);
  INSERT INTO cars (geom, name)
    SELECT ST_SetSRID(ST_MakePoint(i % 100, i / 100), 4326), 'car ' || i FROM generate_series(0, 999) AS i`;

/** Protocols of the requests that tests send. */
export const PROTOCOLS = ['FeatureServer', 'OGC-Features', 'OGC-Tiles'] as const;
type Protocol = (typeof PROTOCOLS)[number];
type LoggedServer = Pick<TestServer, 'url' | 'adminKey' | 'log'>;

interface RequestLine {
  readonly protocol: string;
  readonly ms: number;
  readonly status: number;
}

/** Requests that a server has logged. */
export function readRequests(server: Pick<LoggedServer, 'log'>): RequestLine[] {
  const found: RequestLine[] = [];
  for (const line of server.log().split('\n')) {
    if (!line.includes('"@i":1000')) continue;
    const { Protocol: protocol, DurationMs: ms, StatusCode: status } = JSON.parse(line);
    found.push({ protocol, ms, status });
  }
  return found;
}

/** Waits until the logs of some servers have a number of requests of the protocols. */
export async function untilLogged(servers: readonly LoggedServer[], count: number): Promise<RequestLine[]> {
  for (;;) {
    const lines = servers
      .flatMap(readRequests)
      .filter(({ protocol }) => PROTOCOLS.includes(protocol as Protocol));
    if (lines.length >= count) return lines;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Exact latency of the requests of a protocol. */
export function describeExactly(lines: readonly RequestLine[], protocol: Protocol) {
  const sorted = lines.filter((line) => line.protocol === protocol).sort((a, b) => a.ms - b.ms);
  const at = (share: number) => sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1]?.ms ?? 0;
  return { requestCount: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), maxMs: at(1) };
}

/** Sends requests of all protocols to some servers, several at a time. Returns their number. */
export async function sendLoad(
  servers: readonly LoggedServer[],
  { layerId, count, start = 0 }: { layerId: number; count: number; start?: number },
): Promise<number> {
  const paths = (i: number) => [
    `/ogc/features/collections/cars/items?limit=1&offset=${i}`,
    `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/10/${511 - Math.floor(i / 280)}/${512 + (i % 280)}`,
    `/rest/services/default/FeatureServer/${layerId}/query?where=fid%3D${i}&f=json`,
  ];
  const requests = Array.from({ length: count }, (_, i) => paths(start + i)).flat();
  let next = 0;
  const send = async () => {
    for (let at = next++; at < requests.length; at = next++) {
      // Each server gets requests of each protocol.
      const { url } = servers[(at + Math.floor(at / PROTOCOLS.length)) % servers.length]!;
      const response = await fetch(url + requests[at]!);
      await response.arrayBuffer();
      if (response.status >= 400) throw new Error(`${response.status} ${requests[at]}`);
    }
  };
  await Promise.all(Array.from({ length: 6 }, send));
  return requests.length;
}

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member
export type HealthDocument = any;

export async function readHealth(
  server: Pick<LoggedServer, 'url' | 'adminKey'>,
  path = '',
): Promise<HealthDocument> {
  const response = await fetch(`${server.url}/api/v1/admin/observability/ops-health${path}`, {
    headers: { 'x-api-key': server.adminKey },
  });
  const document = await response.json();
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${JSON.stringify(document)}`);
  return document;
}
