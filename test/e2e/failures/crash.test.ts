import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EditableStore, geoPackageStore, parcel, postgisStore, sender } from '../../edits/support.js';
import { gateways } from '../../support/processes.js';
import { startServerProcess, type TestServer } from '../../support/server.js';
import { isFullRun, repetitions } from '../../support/soak.js';

/**
 * The gateway is killed again and again while it takes edits. What it answered 2xx must be there; every change of a row
 * must have its event and every event its change; and no atomic batch may be there in part.
 */

const KILLS = repetitions(import.meta.url, 10, isFullRun(import.meta.url) ? 2 : 1);
/** Edits that each store takes before each kill. */
const EDITS = 25;
const WRITERS = 4;

type Row = { fid: number; name: string; floors: number | null };

/** What the writers of one store were told. */
class Ledger {
  /** Names of features by what must be true of them in the end. */
  readonly created = new Set<string>();
  readonly deleted = new Set<string>();
  /** The outcome of a delete is not known: the feature may be there or not. */
  readonly doubtful = new Set<string>();
  readonly floors = new Map<string, number>();
  readonly doubtfulFloors = new Set<string>();
  answers = 0;
}

let server: TestServer;
const stores: { id: string; store: EditableStore; ledger: Ledger }[] = [];

beforeAll(async () => {
  const geopackage = geoPackageStore();
  // Durable as in production: the server is killed, not the database, but commits must be real.
  const postgis = await postgisStore(['synchronous_commit=on']);
  stores.push({ id: 'town-parcels', store: geopackage, ledger: new Ledger() });
  stores.push({ id: 'public-parcels', store: postgis, ledger: new Ledger() });
  server = await startServerProcess({ sources: [...geopackage.sources, ...postgis.sources] });
  await editWhileKilling();
}, 400_000);

afterAll(async () => {
  await server?.stop();
  for (const { store } of stores) await store.release();
});

async function editWhileKilling(): Promise<void> {
  let editing = true;
  const writers = stores.flatMap(({ id, ledger }) =>
    Array.from({ length: WRITERS }, (_, i) => write(id, `w${i}`, ledger, () => editing)),
  );
  const killed = new Set<number>();
  while (killed.size < KILLS) {
    await progress();
    const gateway = await serving(killed);
    process.kill(gateway, 'SIGKILL');
    killed.add(gateway);
  }
  await progress();
  editing = false;
  await Promise.all(writers);
}

/** Resolves when every store has taken some more edits. */
async function progress(): Promise<void> {
  const enough = stores.map(({ ledger }) => ledger.answers + EDITS);
  while (stores.some(({ ledger }, i) => ledger.answers < enough[i]!)) await pause(5);
}

/** The gateway that answers and was not killed yet. */
async function serving(killed: ReadonlySet<number>): Promise<number> {
  for (;;) {
    const [gateway] = gateways(server.process.pid!).filter((pid) => !killed.has(pid));
    const ready =
      gateway &&
      (await fetch(`${server.url}/healthz/ready`).then(
        (r) => r.ok,
        () => false,
      ));
    if (ready) return gateway;
    await pause(50);
  }
}

/** One client that creates, updates, deletes and sends atomic batches, noting what it was told. */
async function write(id: string, label: string, ledger: Ledger, goesOn: () => boolean): Promise<void> {
  const send = sender(server.url, server.adminKey);
  const attempt = async (method: string, path: string, body?: unknown, headers = {}) => {
    const answer = await send(method, `${id}/${path}`, body, headers).catch(() => undefined);
    if (answer && answer.status < 300) ledger.answers++;
    else await pause(20);
    return answer && answer.status < 300 ? answer : undefined;
  };
  for (let n = 0; goesOn(); n++) {
    const name = `${label}-${n}`;
    const made = await attempt('POST', 'items', parcel(n % 80, 10, { name, floors: 0 }));
    if (made) {
      ledger.created.add(name);
      const place = `items/${made.body.id}`;
      const updated = await attempt('PATCH', place, { properties: { floors: n + 1 } });
      if (updated) ledger.floors.set(name, n + 1);
      else ledger.doubtfulFloors.add(name);
      if (n % 3 === 0) {
        const gone = await attempt('DELETE', place);
        if (gone) ledger.deleted.add(name);
        else ledger.doubtful.add(name);
      }
    }
    if (n % 4 === 0) {
      const feature = parcel(20, 20, { name: `${name}-all` });
      const operations = Array.from({ length: 5 }, () => ({ type: 'CREATE', feature }));
      const json = { 'content-type': 'application/json' };
      if (await attempt('POST', 'items/batch', { operations, atomic: true }, json))
        ledger.created.add(`${name}-all`);
    }
  }
}

describe.each([0, 1])('store %i', (index) => {
  const rows = async () => {
    const found = await stores[index]!.store.query('SELECT fid, name, floors FROM parcels ORDER BY fid');
    return found.map(({ fid, name, floors }) => ({
      fid: Number(fid),
      name,
      floors: floors === null ? null : Number(floors),
    })) as Row[];
  };

  it('has every edit that was answered with success', async () => {
    const { ledger } = stores[index]!;
    const byName = new Map((await rows()).map((row) => [row.name, row]));
    const missing = [...ledger.created].filter(
      (name) => !byName.has(name) && !ledger.deleted.has(name) && !ledger.doubtful.has(name),
    );
    const undead = [...ledger.deleted].filter((name) => byName.has(name));
    const stale = [...ledger.floors].filter(
      ([name, floors]) =>
        byName.has(name) && !ledger.doubtfulFloors.has(name) && byName.get(name)!.floors !== floors,
    );
    expect({ missing, undead, stale }).toEqual({ missing: [], undead: [], stale: [] });
    expect(ledger.answers).toBeGreaterThanOrEqual(EDITS * (KILLS + 1));
  });

  it('has exactly the rows that its events add up to', async () => {
    const { store } = stores[index]!;
    const events = await store.query(`SELECT * FROM ${store.outbox} ORDER BY cursor`);
    const built = new Map<number, Row>();
    for (const event of events) {
      const fid = Number(event['feature_id']);
      expect(built.has(fid)).toBe(event['operation'] !== 'insert');
      if (event['operation'] === 'delete') built.delete(fid);
      else {
        const text = event['attributes'];
        const { name, floors } = (typeof text === 'string' ? JSON.parse(text) : text) as Row;
        built.set(fid, { fid, name, floors });
      }
    }
    expect([...built.values()].sort((a, b) => a.fid - b.fid)).toEqual(await rows());
  });

  it('has atomic batches wholly or not at all', async () => {
    const counts = new Map<string, number>();
    for (const { name } of await rows())
      if (name.endsWith('-all')) counts.set(name, (counts.get(name) ?? 0) + 1);
    expect(new Set(counts.values())).toEqual(new Set([5]));
  });
});

it('left the file sound, its index and its count too', async () => {
  const { store, id } = stores[0]!;
  expect(await store.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const [row] = await store.query(
    'SELECT (SELECT count(*) FROM parcels) AS features, (SELECT count(*) FROM rtree_parcels_geom) AS indexed',
  );
  expect(row!['indexed']).toBe(row!['features']);
  const page = await sender(server.url, server.adminKey)('GET', `${id}/items?limit=1`);
  expect(page.body.numberMatched).toBe(row!['features']);
});
