import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, postgisStore } from '../edits/support.js';
import { EventReader } from '../streams/support.js';
import { startServer, type TestServer } from '../support/server.js';
import { isFullRun } from '../support/soak.js';
import { SECRET, startReceiver, type TestReceiver } from '../webhooks/receiver.js';

const STREAM = '/api/v1/streaming/features';
/** A brief run has no server whose state is in a file. */
const IS_FULL = isFullRun(import.meta.url);
const WINDOW_MS = 10_000;
/** Leases of the start end within these. */
const WINDOWS = 6;

/** A connection that stays with one gateway of a server. */
class Gateway {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(private readonly server: TestServer) {}

  /** Statements that the gateway has sent to the state, as its metrics count them, and the name of the gateway. */
  statements(): Promise<{ count: number; gateway: string }> {
    const options = { agent: this.#agent, headers: { 'x-api-key': this.server.adminKey } };
    return new Promise((resolve, reject) => {
      get(`${this.server.url}/metrics`, options, async (response) => {
        const text = (await response.setEncoding('utf8').toArray()).join('');
        const [, count] = /^svc_state_statements_total (\d+)$/m.exec(text) ?? [];
        const [gateway] = String(response.headers['x-request-id']).split('-');
        if (count === undefined) reject(new Error(`${response.statusCode} ${text.slice(0, 200)}`));
        else resolve({ count: Number(count), gateway: gateway! });
      }).on('error', reject);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** A connection for each gateway of a server. */
async function gatewaysOf(server: TestServer, count: number): Promise<Gateway[]> {
  const found = new Map<string, Gateway>();
  while (found.size < count) {
    const one = new Gateway(server);
    const { gateway } = await one.statements();
    if (found.has(gateway)) one.close();
    else found.set(gateway, one);
  }
  return [...found.values()];
}

/** The fewest statements that each gateway sends within a window. */
async function fewestStatements(gateways: readonly Gateway[], enough: number): Promise<number[]> {
  const fewest = gateways.map(() => Number.POSITIVE_INFINITY);
  for (let i = 0; i < WINDOWS && fewest.some((count) => count >= enough); i++) {
    const before = await Promise.all(gateways.map((one) => one.statements()));
    await sleep(WINDOW_MS);
    const after = await Promise.all(gateways.map((one) => one.statements()));
    for (const [n, { count }] of after.entries()) fewest[n] = Math.min(fewest[n]!, count - before[n]!.count);
  }
  return fewest;
}

describe('an idle server', () => {
  let file: EditableStore;
  let database: EditableStore;
  let receiver: TestReceiver;
  let embedded: TestServer | undefined;
  let shared: TestServer;
  beforeAll(async () => {
    file = geoPackageStore();
    database = await postgisStore();
    receiver = await startReceiver();
    const webhooks = [{ name: 'all', url: receiver.url, secret: SECRET }];
    const env = {
      ...database.env,
      SVC_EVENTS__WEBHOOKS: JSON.stringify(webhooks),
      SVC_REMOTE__ALLOW: '127.0.0.1',
    };
    const sources = [...file.sources, ...database.sources];
    [embedded, shared] = await Promise.all([
      IS_FULL ? startServer({ sources, env, args: ['--processes', '2'] }) : undefined,
      startServer({ sources, env: { ...env, SVC_STATE__URL: database.sources[0]! } }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([embedded?.stop(), shared?.stop()]);
    await receiver?.close();
    await Promise.all([file?.release(), database?.release()]);
  });

  it('asks the state nothing, with stores, a webhook and a stream, and PostgreSQL for signs of life', async () => {
    const servers = embedded ? [embedded, shared] : [shared];
    const readers = servers.map(
      ({ url, adminKey }) => new EventReader(`${url}${STREAM}`, { 'x-api-key': adminKey }),
    );
    for (const reader of readers) await reader.until(() => reader.of('status').length > 0);
    const files = embedded ? await gatewaysOf(embedded, 2) : [];
    const databases = await gatewaysOf(shared, 1);
    const [inFile, inDatabase] = await Promise.all([
      fewestStatements(files, 10),
      fewestStatements(databases, 50),
    ]);
    for (const count of inFile) expect(count).toBeLessThan(10);
    for (const count of inDatabase) expect(count).toBeLessThan(50);
    for (const one of [...files, ...databases, ...readers]) one.close();
  });
});
