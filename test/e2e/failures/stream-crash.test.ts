import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { Interest } from '../../../src/client/index.js';
import { OUTBOX_EVENTS } from '../../../src/core/kit/limits.js';
import { type EditableStore, geoPackageStore, postgisStore, sender } from '../../edits/support.js';
import { freePort } from '../../support/ports.js';
import { errorLines, gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun, repetitions } from '../../support/soak.js';
import { Follower, overEvents, SocketClient } from '../support/stream-follower.js';
import { type Item, Writer } from '../support/stream-writer.js';

/**
 * Four writers edit while the server is killed with -9 again and again, and while subscribers of all kinds connect,
 * stall, die and resume. In the end each of them must have exactly what the store holds, and no change may have been
 * lost without a gap that says so. A brief run has the GeoPackage alone.
 */

const IS_FULL = isFullRun(import.meta.url);

const WRITERS = 4;
const OPERATIONS = 500;
/** Events that the server keeps: as many as it does by itself, or few, so that a short run outlives them too. */
const RETENTION = repetitions(import.meta.url, OUTBOX_EVENTS, IS_FULL ? 4000 : 2000);

const COLLECTION = 'spots';

const runs: [name: string, make: () => Promise<EditableStore>, batches: number, kills: number][] = [
  [
    'GeoPackage',
    async () => geoPackageStore(),
    repetitions(import.meta.url, 50, IS_FULL ? 8 : 4),
    repetitions(import.meta.url, 10, IS_FULL ? 3 : 2),
  ],
  [
    'PostGIS',
    () => postgisStore(['synchronous_commit=on']),
    repetitions(import.meta.url, 10, 3),
    repetitions(import.meta.url, 3, 2),
  ],
];

describe.each(runs)('streams of a %s', (name, makeStore, batches, kills) => {
  const run = it.runIf(IS_FULL || name === 'GeoPackage');
  const changes = WRITERS * OPERATIONS * batches;
  const clients: { close(): void }[] = [];
  const followers: Follower[] = [];
  const dataDir = mkdtempSync(join(tmpdir(), 'graticule-crash-'));
  let store: EditableStore;
  let server: TestServer;
  let port: number;
  let layer: number;
  let sockets: SocketClient[];
  let ledger: Follower;
  let written = 0;
  let found = 0;

  const env = { SVC_EVENTS__RETENTION__COUNT: String(RETENTION) };
  const start = () =>
    startServerProcess({ sources: store.sources, env: { ...store.env, ...env }, dataDir, port });
  const streamUrl = () => `${server.url}/api/v1/streaming/features`;

  beforeAll(async () => {
    store = await makeStore();
    port = await freePort();
    server = await start();
    layer = await findLayer();
    await beginToFollow();
    await editWhileKilling();
  }, 400_000);

  /** A server that is ready may still wait for a database that is slow to start. */
  async function findLayer(): Promise<number> {
    for (;;) {
      const capabilities = await (await fetch(`${streamUrl()}/capabilities`)).json();
      const { layers } = capabilities as { layers: { name: string; layerId: number }[] };
      const found = layers.find(({ name }) => name === COLLECTION);
      if (found) return found.layerId;
      await pause(50);
    }
  }

  afterAll(async () => {
    for (const client of clients) client.close();
    await server?.stop();
    await store?.release();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function follower(name: string, interest: Interest, query = ''): Follower {
    const made = new Follower(name, { layers: [layer], ...interest }, query);
    followers.push(made);
    return made;
  }
  const whole = { mode: 'snapshot-then-delta' } as const;
  const box = { ...whole, bbox: [0, 0, 10, 10] as const };
  const red = { ...whole, filter: "name LIKE 'red%'" };
  const redQuery = `filter=${encodeURIComponent(red.filter)}`;

  async function beginToFollow(): Promise<void> {
    ledger = follower('delta, from the beginning', {});
    const patient = new SocketClient(streamUrl(), [ledger]);
    const near = { op: 'like', args: [{ property: 'name' }, 'blue%'] };
    sockets = [
      [follower('all', whole)],
      [follower('box', box, 'bbox=0,0,10,10')],
      [follower('filter', red, redQuery)],
      [
        follower('one of three: all', { ...whole, onSlow: 'coalesce' }),
        follower('one of three: box', box, 'bbox=0,0,10,10'),
        follower(
          'one of three: filter as JSON',
          { ...whole, filter: near, filterLang: 'cql2-json' },
          `filter=${encodeURIComponent("name LIKE 'blue%'")}`,
        ),
      ],
    ].map((group) => new SocketClient(streamUrl(), group));
    const events = [follower('events: all', whole), follower('events: box', box, 'bbox=0,0,10,10')];
    clients.push(patient, ...sockets, ...events.map((one) => overEvents(streamUrl(), one)));
    while (followers.some(({ counts }) => counts.connections === 0)) await pause(20);
  }

  async function editWhileKilling(): Promise<void> {
    const send = sender(server.url, server.adminKey);
    const writers = Array.from({ length: WRITERS }, (_, i) => {
      const wrote = (operations: number) => void (written += operations);
      const items = `${COLLECTION}/items`;
      return new Writer({
        name: `w${i}`,
        items,
        send,
        operations: OPERATIONS,
        features: 600,
        settled,
        wrote,
      });
    });
    const writing = Promise.all(writers.map((writer) => writer.write(batches)));
    let over = false;
    const trouble = disturb(() => over);
    for (let kill = 1; kill <= kills; kill++) {
      const enough = (changes * kill) / (kills + 1);
      await Promise.race([writing, until(() => written >= enough)]);
      if (kill === 1 && changes > 2 * RETENTION) fallAsleep();
      if (kill === kills) wakeUp();
      joinLate(kill);
      await killServer(kill % 3 === 0);
    }
    await writing;
    over = true;
    await trouble;
    found = writers.reduce((sum, writer) => sum + writer.found, 0);
  }

  let settling = Promise.resolve();

  /** A database may still commit what the gateway that died had sent. */
  function settled(): Promise<void> {
    if (store.outbox !== 'graticule_outbox') settling = settling.then(allCommitted);
    return settling;
  }

  async function allCommitted(): Promise<void> {
    const [now] = await store.query('SELECT clock_timestamp()::text AS time');
    const older = `SELECT 1 FROM pg_stat_activity WHERE xact_start < '${now!['time']}' AND pid <> pg_backend_pid()
      AND backend_type = 'client backend'`;
    while ((await store.query(older)).length > 0) await pause(20);
  }

  /** All of it, or its gateway, which the supervisor then starts again. */
  async function killServer(onlyGateway: boolean): Promise<void> {
    if (onlyGateway) {
      for (const pid of gateways(server.process.pid!)) process.kill(pid, 'SIGKILL');
      return;
    }
    await server.kill();
    server = await start();
  }

  /** Another subscriber of one kind or the other, and one that never reads anything. */
  function joinLate(kill: number): void {
    const late = follower(`late ${kill}`, kill % 2 ? red : whole, kill % 2 ? redQuery : '');
    if (kill % 3 === 0) clients.push(overEvents(streamUrl(), late));
    else {
      const client = new SocketClient(streamUrl(), [late]);
      sockets.push(client);
      clients.push(client);
    }
    const stuck = new WebSocket(`${streamUrl().replace('http', 'ws')}?layers=${layer}`);
    stuck.on('error', () => undefined);
    stuck.on('open', () => stuck.pause());
    clients.push({ close: () => stuck.terminate() });
  }

  /** Two that go away for longer than events are kept; where there are enough changes for that. */
  const sleepers: { follower: Follower; cursor: number }[] = [];

  function fallAsleep(): void {
    for (const [name, interest] of [
      ['asleep, snapshots', whole],
      ['asleep, delta', {}],
    ] as const) {
      const one = new Follower(name, { layers: [layer], ...interest });
      sleepers.push({ follower: one, cursor: ledger.lastCursor });
    }
  }

  function wakeUp(): void {
    for (const { follower: one, cursor } of sleepers) {
      if (one.interest.mode) followers.push(one);
      clients.push(new SocketClient(streamUrl(), [one], cursor));
    }
  }

  async function disturb(over: () => boolean): Promise<void> {
    while (!over()) {
      await pause(150);
      const client = sockets[Math.floor(Math.random() * sockets.length)]!;
      if (Math.random() < 0.5) client.die();
      else client.stall(100 + Math.random() * 1500);
    }
  }

  /** Names and places of the features that the API has, by id. */
  async function stored(query: string): Promise<Map<string, string>> {
    const send = sender(server.url, server.adminKey);
    const found = new Map<string, string>();
    let path = `${COLLECTION}/items?limit=2000&${query}`;
    for (;;) {
      const { body } = await send('GET', path);
      for (const { id, geometry, properties } of body.features as Item[])
        found.set(String(id), `${properties.name} ${geometry.coordinates[0]} ${geometry.coordinates[1]}`);
      const next = (body.links as { rel: string; href: string }[]).find(({ rel }) => rel === 'next');
      if (!next) return found;
      path = next.href.split('/collections/')[1]!;
    }
  }

  run('end with exactly what the store holds, and no gap unreported', async () => {
    expect(written).toBe(changes);
    const truths = new Map<string, Map<string, string>>();
    for (const { query } of followers) if (!truths.has(query)) truths.set(query, await stored(query));
    const behind = () =>
      followers.filter(
        (one) => !(one === ledger && one.counts.gaps > 0) && !equal(one.state(), truths.get(one.query)!),
      );
    await Promise.race([until(() => behind().length === 0), pause(60_000, undefined, { ref: false })]);
    console.log(
      `${changes} changes by ${WRITERS} writers, ${kills} kills, ${found} batches done but not answered, ` +
        `${truths.get('')!.size} features in the end`,
    );
    console.table(Object.fromEntries(followers.map(({ name, counts }) => [name, counts])));
    for (const one of behind())
      expect(differences(one.state(), truths.get(one.query)!), one.name).toEqual([]);
    expect(
      followers.flatMap(({ name, wrong }) => wrong.slice(0, 3).map((text) => `${name}: ${text}`)),
    ).toEqual([]);
    for (const { follower: one } of sleepers) {
      expect(new Set(one.gaps.map(({ reason }) => reason))).toEqual(new Set(['cursor-expired']));
      expect(one.mirror.stale).toBe(!one.interest.mode);
    }
    // Who takes no snapshots has every single change, unless it was told that some are missing.
    if (ledger.counts.gaps === 0) expect(ledger.counts.events).toBe(changes);
  });

  run('have every change in the outbox once', async () => {
    const [row] = await store.query(
      `SELECT max(cursor) AS newest, count(*) AS rows, count(DISTINCT event_id) AS events FROM ${store.outbox}`,
    );
    expect(row!['events']).toEqual(row!['rows']);
    // A database does not give cursors again that were drawn by what was undone.
    if (store.outbox === 'graticule_outbox') expect(row).toMatchObject({ newest: changes, rows: RETENTION });
  });

  run('met no error that it did not expect', () => {
    expect(errorLines(server.log()).filter(({ Stack }) => Stack !== undefined)).toEqual([]);
  });
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(20);
}

function equal(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([id, text]) => b.get(id) === text);
}

function differences(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] {
  const ids = new Set([...a.keys(), ...b.keys()]);
  return [...ids]
    .filter((id) => a.get(id) !== b.get(id))
    .map((id) => `${id}: ${a.get(id)} is ${b.get(id)}`)
    .slice(0, 5);
}
