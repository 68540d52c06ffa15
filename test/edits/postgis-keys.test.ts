import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EditOperation } from '../../src/core/edits/edits.js';
import type { VectorSource } from '../../src/core/sources/vector-source.js';
import { jsonTexts } from '../../src/core/values/json-text.js';
import { closeAll } from '../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../src/workers/providers/postgis/schema/discover.js';
import { tableLayers } from '../../src/workers/providers/postgis/schema/table-layers.js';
import { postgisStore } from '../../src/workers/providers/postgis/store.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

/** Keys that several rows of a PostgreSQL table have: an edit changes one row or none. */

let postgres: TestPostgres;
let client: pg.Client;

beforeAll(async () => {
  postgres = await startPostgres();
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`
    CREATE EXTENSION IF NOT EXISTS postgis;
    CREATE TABLE parent (id serial PRIMARY KEY, name text, geom geometry(Point, 4326));
    CREATE TABLE child_a () INHERITS (parent); CREATE TABLE child_b () INHERITS (parent);
    CREATE TABLE coded (id serial PRIMARY KEY, code int, name text, geom geometry(Point, 4326));
    INSERT INTO coded (code, name) VALUES (1, 'one'), (2, 'two');
    CREATE VIEW seen AS SELECT code AS id, name, geom FROM coded;
    CREATE VIEW ruled AS SELECT code AS id, name, geom FROM coded;
    CREATE RULE changed AS ON UPDATE TO ruled DO INSTEAD UPDATE coded SET name = NEW.name WHERE code = OLD.id;
    CREATE RULE gone AS ON DELETE TO ruled DO INSTEAD DELETE FROM coded WHERE code = OLD.id;
    CREATE RULE made AS ON INSERT TO ruled DO INSTEAD INSERT INTO coded (code, name, geom)
      VALUES (NEW.id, NEW.name, NEW.geom) RETURNING code, name, geom;`);
});

afterAll(async () => {
  await client?.end();
  closeAll();
  await postgres?.stop();
});

async function sourceOf(table: string): Promise<VectorSource> {
  const { layers } = await discoverTables({ database: postgres.url });
  return layers.find(({ source }) => source.table === table)!.source;
}

async function statedSource(table: string, key: string): Promise<VectorSource> {
  const choices = [{ schema: 'public', table, key }];
  const [found] = await tableLayers({ database: postgres.url, choices });
  return (found as { layer: { source: VectorSource } }).layer.source;
}

async function outcomeOf(source: VectorSource, operation: EditOperation) {
  const { outcomes } = await postgisStore.edit({
    ...{
      filter: undefined,
      source,
      operations: [operation],
      mode: 'each',
      crs: 'OGC:CRS84',
      swapAxes: false,
    },
    origin: { collection: 'c', layerId: 1, protocol: 'OGC-Features', requestId: 'r', actor: 'a' },
  });
  return outcomes[0];
}

const renaming = (id: string): EditOperation => ({
  ...{ type: 'update', id },
  feature: { values: jsonTexts({ name: 'changed' }) },
});
const replacement = (id: string): EditOperation => ({
  ...{ type: 'replace', id },
  feature: { geometry: 'null', values: jsonTexts({ name: 'changed' }) },
});
const deletion = (id: string): EditOperation => ({ type: 'delete', id });

const refusal = (column: string, id: string) => ({
  ...{ ok: false, reason: 'conflict' },
  message: `Several rows of the table have the key ${column} = '${id}', so the edit was not made. Make the keys unique in the database.`,
});
const namesOf = async (table: string) =>
  (await client.query(`SELECT name FROM ${table} ORDER BY name`)).rows.map(({ name }) => name);

it('changes none of the rows of child tables that have the same key', async () => {
  const source = await sourceOf('parent');
  expect(source.writable).toBe(true);
  await client.query(
    `INSERT INTO child_a (id, name) VALUES (7, 'a'); INSERT INTO child_b (id, name) VALUES (7, 'b'), (8, 'c')`,
  );
  for (const operation of [renaming('7'), replacement('7'), deletion('7')])
    expect(await outcomeOf(source, operation)).toEqual(refusal('id', '7'));
  expect(await namesOf('parent')).toEqual(['a', 'b', 'c']);
  expect(await outcomeOf(source, renaming('8'))).toEqual({ ok: true, id: '8' });
  expect(await namesOf('parent')).toEqual(['a', 'b', 'changed']);
});

it('refuses a new row whose number a child table has', async () => {
  const source = await sourceOf('coded');
  expect(source.writable).toBe(true);
  await client.query(`DELETE FROM parent; INSERT INTO child_a (id, name) VALUES (20, 'a')`);
  await client.query(`SELECT setval('parent_id_seq', 19)`);
  const parent = await sourceOf('parent');
  const creation: EditOperation = { type: 'create', feature: { values: jsonTexts({ name: 'new' }) } };
  expect(await outcomeOf(parent, creation)).toEqual(refusal('id', '20'));
  expect(await namesOf('parent')).toEqual(['a']);
});

it('lists a table as read-only where keys are seen to repeat', async () => {
  await client.query(`INSERT INTO child_b (id, name) SELECT id, 'twin' FROM child_a`);
  const parent = await sourceOf('parent');
  expect(parent).toMatchObject({ writable: false, readOnly: 'values of its key id are missing or repeated' });
  await client.query(`INSERT INTO coded (code, name) VALUES (3, 'three'), (3, 'third')`);
  const stated = await statedSource('coded', 'code');
  expect(stated).toMatchObject({
    writable: false,
    readOnly: 'values of its key code are missing or repeated',
  });
  await client.query('DELETE FROM coded WHERE code = 3');
  expect(await statedSource('coded', 'code')).toMatchObject({ writable: true });
  await client.query('DELETE FROM child_b');
});

it('changes none of the rows that have the same stated key, in tables, views and views with rules', async () => {
  const sources = [await statedSource('coded', 'code'), await sourceOf('seen'), await sourceOf('ruled')];
  expect(sources.map(({ writable }) => writable)).toEqual([true, true, true]);
  await client.query(`INSERT INTO coded (code, name) VALUES (1, 'later')`);
  for (const source of sources)
    for (const operation of [renaming('1'), replacement('1'), deletion('1')])
      expect(await outcomeOf(source, operation)).toEqual(refusal(source.idColumn, '1'));
  expect(await namesOf('coded')).toEqual(['later', 'one', 'two']);
  for (const source of sources) expect(await outcomeOf(source, renaming('2'))).toEqual({ ok: true, id: '2' });
  expect(await outcomeOf(sources[2]!, deletion('2'))).toEqual({ ok: true, id: '2' });
  expect(await namesOf('coded')).toEqual(['later', 'one']);
});

it('refuses an update that a row of the same key has overtaken', async () => {
  await client.query(`DELETE FROM coded; INSERT INTO coded (code, name) VALUES (5, 'five')`);
  const source = await statedSource('coded', 'code');
  const other = new pg.Client({ connectionString: postgres.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(`UPDATE coded SET name = 'held' WHERE code = 5`);
  const waiting = outcomeOf(source, renaming('5'));
  await other.query(`INSERT INTO coded (code, name) VALUES (5, 'twin')`);
  await other.query('COMMIT');
  await other.end();
  expect(await waiting).toEqual(refusal('code', '5'));
  expect(await namesOf('coded')).toEqual(['held', 'twin']);
});
