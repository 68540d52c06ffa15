import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backUpState, restoreState } from '../../src/cli/state/backup.js';
import { computeEpoch } from '../../src/core/streams/events.js';
import Database from '../../src/native/sqlite.js';
import { moveState } from '../../src/stores/state/move.js';
import { openFile, openPostgres, openState } from '../../src/stores/state/state.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { startServer, type TestServer } from '../support/server.js';
import { makeDatabase, openPlace, STATE_BOUNDS, stateWorker, temporaryState } from '../support/state.js';

/** Copies of a state, and its way from one database to another and back. */

let postgres: TestPostgres;
const folder = mkdtempSync(join(tmpdir(), 'graticule-state-moves-'));
let files = 0;
const fresh = () => join(folder, `${++files}.db`);
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(async () => {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const openDb = (place: string) =>
  place.startsWith('postgresql:') ? openPostgres(place, STATE_BOUNDS) : openFile(place, stateWorker());

async function move(from: string, to: string): Promise<Record<string, number>> {
  const [source, target] = [await openDb(from), await openDb(to)];
  try {
    return await moveState(source, target);
  } finally {
    await source.destroy();
    await target.destroy();
  }
}

const event = (n: number) => ({
  at: n,
  event_type: 'test',
  action: `do ${n}`,
  actor: 'Ökonom 🌍',
  actor_type: 'key',
  outcome: 'success',
  resource_type: 'thing',
  resource_id: null,
  correlation_id: `c${n}`,
  remote_ip: null,
  user_agent: '\u0007 "quoted"',
  details: null,
});

const entry = (n: number) =>
  ({ kind: 'event', event: { id: `e${n}`, collection: 'c', time: '2026-01-01T00:00:00Z' } }) as never;

let template: Promise<string> | undefined;

/** A copy of a state with rows in tables of every kind of key, more than one page of some. Returns its place. */
async function filled(): Promise<string> {
  template ??= fill(fresh());
  const place = fresh();
  copyFileSync(await template, place);
  return place;
}

/** Fills a new state and closes it. */
async function fill(place: string): Promise<string> {
  const state = await openPlace(place);
  for (let n = 1; n <= 1203; n++) void state.audit.append(event(n));
  await state.audit.append(event(1204));
  for (const slug of ['a', 'b', 'c']) await state.collections.idOf(slug);
  await state.feed.claim('outbox', 'me', 0, 1000);
  const entries = Array.from({ length: 700 }, (_, n) => entry(n));
  await state.feed.append('outbox', 'me', entries, { cursor: 700, eventId: 'e699' });
  await state.close();
  const db = new Database(place);
  db.exec(`
    INSERT INTO sinks (name, position, owner, lease_expires_at) VALUES ('hook', 5, NULL, 0);
    INSERT INTO deliveries (sink, event_id, body, attempt, state, created_at, due_at)
      VALUES ('hook', 'e', '{}', 0, 'pending', 1, 1), ('hook', 'f', '{}', 0, 'pending', 1, 1);
    DELETE FROM deliveries WHERE event_id = 'f';
    INSERT INTO styles (layer_id, version, document_version, revised_at)
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
      SELECT i / 10, i % 10, 1, i FROM n;
    INSERT INTO documents SELECT 'k' || (i % 3), 'ü' || i, 1, 'e', '{"x":0.1}', 1, NULL, 1, NULL
      FROM (SELECT layer_id * 10 + version AS i FROM styles);`);
  db.close();
  return place;
}

describe('a state that is moved', () => {
  it('to PostgreSQL and back reads as before, goes on with its numbers and keeps its audit chain', async () => {
    const first = await filled();
    const between = await makeDatabase(postgres.url);
    const last = fresh();
    const counts = await move(first, between);
    expect(counts).toMatchObject({
      audit: 1204,
      feed: 700,
      styles: 1101,
      documents: 1101,
      deliveries: 1,
      sinks: 1,
    });
    expect(await move(between, last)).toEqual(counts);

    const read = (path: string) => {
      const db = new Database(path, { readonly: true });
      const tables = Object.keys(counts).map((table) => [
        table,
        db.prepare(`SELECT * FROM ${table} ORDER BY 1, 2`).all(),
      ]);
      const numbers = db.prepare('SELECT * FROM sqlite_sequence WHERE seq > 0 ORDER BY name').all();
      db.close();
      return [tables, numbers];
    };
    expect(read(last)).toEqual(read(first));

    for (const place of [between, last]) {
      const state = await openPlace(place);
      const { newest } = await state.feed.bounds();
      await state.feed.claim('outbox', 'me', 0, 1000);
      expect(await state.feed.append('outbox', 'me', [entry(701)], { cursor: 701, eventId: 'e' })).toBe(
        newest + 1,
      );
      expect(await state.collections.idOf('d')).toBe(4);
      await state.audit.append(event(1205));
      expect(await state.audit.verify()).toEqual({ rowsChecked: 1205 });
      await state.close();
    }
  });

  it('does not go where something is, and leaves that as it is', async () => {
    const [first, other] = [await filled(), await filled()];
    await expect(move(first, other)).rejects.toThrow(/not empty: its table collection_ids/);
    const state = await openPlace(other);
    expect(await state.audit.verify()).toEqual({ rowsChecked: 1204 });
    await state.close();
  });

  it('is there whole or not at all', async () => {
    const first = await filled();
    const db = new Database(first);
    // PostgreSQL has no such text.
    db.exec(`INSERT INTO documents VALUES ('z', 'z', 1, 'e', 'a' || char(0) || 'b', 1, NULL, 1, NULL)`);
    db.close();
    const place = await makeDatabase(postgres.url);
    await expect(move(first, place)).rejects.toThrow(/U\+0000/);
    const state = await openPlace(place);
    expect(await state.audit.verify()).toEqual({ rowsChecked: 0 });
    await state.close();
    await move(await filled(), place);
  });

  it('stays where a server has it open', async () => {
    const busy = await temporaryState(postgres);
    const other = await busy.again();
    await other.check();
    await expect(move(busy.place, fresh())).rejects.toThrow(
      'A server uses the state in PostgreSQL. Stop all its servers first.',
    );
    await busy.close();
  });

  it('is refused with a broken audit chain only where moving breaks it', async () => {
    const first = await filled();
    const db = new Database(first);
    db.exec(`DROP TRIGGER audit_is_not_updated; UPDATE audit SET actor = 'x' WHERE id = 7`);
    db.close();
    const place = fresh();
    await move(first, place);
    const state = await openPlace(place);
    expect((await state.audit.verify()).broken).toMatchObject({ id: 7 });
    await state.close();
  });
});

describe('a backup', () => {
  it('is of one moment, for its user only, and comes back with a feed of another epoch', async () => {
    const path = await filled();
    const state = await openState(path, stateWorker());
    const file = `${path}.backup`;
    const later = state.audit.append(event(1205));
    backUpState(path, file);
    await later;
    const { newest } = await state.feed.bounds();
    await state.audit.append(event(1206));
    await state.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const before = await restoreState(file, path, stateWorker());
    const restored = await openState(path, stateWorker());
    expect([1204, 1205]).toContain((await restored.audit.verify()).rowsChecked);
    const bounds = await restored.feed.bounds();
    expect(computeEpoch(bounds.newest)).toBeGreaterThan(computeEpoch(newest));
    expect((await restored.feed.after(0, 1000)).length).toBe(700);
    await restored.close();
    const aside = await openState(before!, stateWorker());
    expect((await aside.audit.verify()).rowsChecked).toBe(1206);
    await aside.close();

    const again = fresh();
    expect(await restoreState(file, again, stateWorker())).toBeUndefined();
    const twin = await openState(again, stateWorker());
    expect((await twin.feed.bounds()).newest).not.toBe(bounds.newest);
    await twin.close();
    expect(readdirSync(folder).filter((name) => name.includes('.part'))).toEqual([]);
  });

  it('does not take the place of a file', async () => {
    const path = await filled();
    const file = fresh();
    writeFileSync(file, 'mine');
    expect(() => backUpState(path, file)).toThrow(
      /\d+\.db already exists\. Name another file, or remove it first\./,
    );
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(() => backUpState(fresh(), `${file}.x`)).toThrow(/no state/);
  });

  it.each([
    ['is no database', (file: string) => writeFileSync(file, 'nothing like it')],
    ['is empty', (file: string) => writeFileSync(file, '')],
    ['is cut off', (file: string) => writeFileSync(file, readFileSync(file).subarray(0, 40_000))],
    [
      'is spoilt within',
      (file: string) => {
        const bytes = readFileSync(file);
        bytes.fill(0x55, 8192, 60_000);
        writeFileSync(file, bytes);
      },
    ],
    [
      'is of a newer version',
      (file: string) => {
        const db = new Database(file);
        db.exec(`INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01');
          UPDATE compatibility SET needs = '9999-later'`);
        db.close();
      },
    ],
    [
      'has an audit trail that was changed',
      (file: string) => {
        const db = new Database(file);
        db.exec(`DROP TRIGGER audit_is_not_updated; UPDATE audit SET actor = 'x' WHERE id = 7`);
        db.close();
      },
    ],
  ])('that %s is refused, and the state stays', async (_, spoil) => {
    const path = await filled();
    const file = `${path}.backup`;
    backUpState(path, file);
    spoil(file);
    const beside = () => readdirSync(folder).filter((name) => /\.part|before-/.test(name));
    const aside = beside();
    await expect(restoreState(file, path, stateWorker())).rejects.toThrow();
    const state = await openState(path, stateWorker());
    expect(await state.audit.verify()).toEqual({ rowsChecked: 1204 });
    await state.close();
    expect(beside()).toEqual(aside);
  });
});

describe('the commands', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'graticule-state-commands-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
  const run = (env: Record<string, string>, ...args: string[]) =>
    execFileSync(process.execPath, ['dist/cli/main.js', 'state', ...args, '--data-dir', dataDir], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
    });
  const serve = (env: Record<string, string> = {}) =>
    startServer({ dataDir, env, sources: ['demo/data/world_map.gpkg'] });
  const keys = async (server: TestServer) => {
    const answer = await fetch(`${server.url}/api/v1/admin/api-keys`, {
      headers: { 'x-api-key': server.adminKey },
    });
    return answer.text();
  };
  const createKey = (server: TestServer, name: string) =>
    fetch(`${server.url}/api/v1/admin/api-keys`, {
      method: 'POST',
      headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
      body: JSON.stringify({ name, permissions: [] }),
    });

  it('back up while serving, restore, move to PostgreSQL and serve from there', async () => {
    const file = join(dataDir, 'monday.backup');
    const first = await serve();
    expect((await createKey(first, 'before-it')).status).toBe(201);
    expect(run({}, 'backup', file)).toContain('monday.backup');
    expect((await createKey(first, 'after-it')).status).toBe(201);
    expect(() => run({}, 'restore', file)).toThrow(/is in use by the server/);
    const url = await makeDatabase(postgres.url);
    expect(() => run({}, 'move', '--to', url)).toThrow(/is in use by the server/);
    await first.stop();

    expect(run({}, 'restore', file)).toContain('the previous state is in');
    expect(run({}, 'move', '--to', url)).toMatch(/\d+ rows are in postgresql:.*, read back and compared/);
    const env = { SVC_STATE__URL: url };
    expect(() => run(env, 'backup', `${file}.2`)).toThrow(/pg_dump/);
    const second = await serve(env);
    const text = await keys(second);
    expect(text).toContain('before-it');
    expect(text).not.toContain('after-it');
    await second.stop();
    expect(() => run(env, 'move', '--to', 'file')).toThrow(/not empty/);
    expect(() => run({}, 'move', '--to', 'mysql://x/y')).toThrow(
      /--to: must be 'file' or the URL of a PostgreSQL database\./,
    );
  }, 120_000);
});
