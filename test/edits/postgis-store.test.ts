import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EditOperation, EditTask } from '../../src/core/edits/edits.js';
import type { VectorLayerInfo } from '../../src/core/tasks/vector-tasks.js';
import { jsonTexts } from '../../src/core/values/json-text.js';
import { closeAll } from '../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../src/workers/providers/postgis/schema/discover.js';
import { postgisStore } from '../../src/workers/providers/postgis/store.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

/** What is particular to edits of PostgreSQL: its types, its keys, its rights, its transactions. */

let postgres: TestPostgres;
let client: pg.Client;
let layers: VectorLayerInfo[];

beforeAll(async () => {
  postgres = await startPostgres();
  client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`
    CREATE EXTENSION IF NOT EXISTS postgis; CREATE EXTENSION IF NOT EXISTS hstore;
    CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE address AS (street text, number int);
    CREATE TABLE types (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, geom geometry(MultiPolygonZ, 25832),
      i2 int2, i8 int8, f4 float4, n numeric(8,2), b bool, v varchar(4), u uuid, j json, jb jsonb, d date,
      ts timestamp, tz timestamptz, bin bytea, ints int[], texts text[], grid int[][], docs jsonb[],
      m mood, a address, h hstore, t time, iv interval,
      twice int GENERATED ALWAYS AS (i2 * 2) STORED, dflt text DEFAULT 'd' || 'f');
    CREATE TABLE "Odd ""name" ("Key" uuid PRIMARY KEY DEFAULT gen_random_uuid(), "the geom" geography(Point, 4326), "a.b" text);
    CREATE TABLE texts (code text PRIMARY KEY, geom geometry(Point, 4326), n int CHECK (n > 0));
    CREATE TABLE serials (id serial PRIMARY KEY, geom geometry(Point, 4326), parent int REFERENCES serials
      DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE curves (id serial PRIMARY KEY, geom geometry(MultiSurface, 4326));
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.n = 13 THEN RAISE EXCEPTION 'thirteen brings bad luck'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER luck BEFORE INSERT OR UPDATE ON texts FOR EACH ROW EXECUTE FUNCTION refuse();
    CREATE VIEW seen AS SELECT id, geom FROM serials;
    CREATE VIEW totals AS SELECT min(id) AS id, ST_Collect(geom)::geometry(MultiPoint, 4326) AS geom FROM serials;`);
  layers = (await discoverTables({ database: postgres.url })).layers;
});

afterAll(async () => {
  await client?.end();
  closeAll();
  await postgres?.stop();
});

const source = (table: string) => layers.find((layer) => layer.source.table === table)!.source;

function edit(table: string, operations: EditOperation[], more: Partial<EditTask> = {}) {
  return postgisStore.edit({
    filter: undefined,
    source: more.source ?? source(table),
    operations,
    mode: 'each',
    crs: 'OGC:CRS84',
    swapAxes: false,
    origin: { collection: table, layerId: 1, protocol: 'OGC-Features', requestId: 'r', actor: 'a' },
    ...more,
  });
}

const POINT = '{"type":"Point","coordinates":[7,46]}';
const create = (properties: Record<string, unknown> = {}, id?: string, geometry = POINT): EditOperation => ({
  type: 'create',
  id,
  feature: { geometry, values: jsonTexts(properties) },
});

async function created(table: string, operation: EditOperation): Promise<string> {
  const { outcomes } = await edit(table, [operation]);
  expect(outcomes[0]).toEqual({ ok: true, id: expect.any(String) });
  return (outcomes[0] as { id: string }).id;
}

async function item(table: string, id: string) {
  const output = { format: 'geojson', crs: 'OGC:CRS84', swapAxes: false, precision: 7 } as const;
  const found = await postgisStore.item({ filter: undefined, ...output, source: source(table), id });
  return JSON.parse(Buffer.from(found!.data).toString('utf8'));
}

describe('values', () => {
  const values = {
    i2: -5,
    i8: 9007199254740991,
    f4: 1.5,
    n: 123456.78,
    b: false,
    v: 'ab"\\',
    u: 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
    j: { a: [1, null] },
    jb: [1, { x: 'y' }],
    d: '2020-02-29',
    tz: '2020-02-29T10:00:00Z',
    bin: 'AAEC',
    ints: [1, null, 3],
    texts: ['a,b', '"q"', 'back\\slash', '{}', 'NULL', null],
    grid: [
      [1, 2],
      [3, 4],
    ],
    docs: [{ a: 1 }, null],
    m: 'ok',
    a: { street: 'Main "St"', number: 7 },
    h: { k: 'v' },
  };
  const square = '{"type":"Polygon","coordinates":[[[9,50],[9.1,50],[9.1,50.1],[9,50]]]}';

  it('keeps those of every type, and a feature that was read can be sent back', async () => {
    const id = await created('types', create(values, undefined, square));
    const read = await item('types', id);
    expect(read.properties).toMatchObject({ ...values, twice: -10, dflt: 'df' });
    const operation = {
      type: 'replace',
      id,
      feature: { geometry: square, values: jsonTexts(read.properties) },
    } as const;
    expect((await edit('types', [operation])).outcomes).toEqual([{ ok: true, id }]);
    expect(await item('types', id)).toEqual(read);
    const empty = { type: 'replace', id, feature: {} } as const;
    expect((await edit('types', [empty])).outcomes).toEqual([{ ok: true, id }]);
    const { properties } = await item('types', id);
    expect(properties).toMatchObject({ i2: null, texts: null, m: null, dflt: 'df' });
  });

  it('keeps whole numbers of 64 bits', async () => {
    const id = await created('types', create({ i8: '9223372036854775807' }, undefined, square));
    const { rows } = await client.query('SELECT i8::text FROM types WHERE id = $1', [id]);
    expect(rows).toEqual([{ i8: '9223372036854775807' }]);
  });

  it.each([
    ['a number that the column cannot hold', { i2: 40000 }],
    ['a numeric of too many digits', { n: 12345678 }],
    ['text that is too long', { v: 'abcde' }],
    ['no value of an enumeration', { m: 'glad' }],
    ['no uuid', { u: 'x' }],
    ['no time', { t: 'noon-ish' }],
    ['an array of other things', { ints: ['a'] }],
  ])('refuses %s', async (_what, properties) => {
    const { outcomes } = await edit('types', [create(properties, undefined, square)]);
    expect(outcomes[0]).toMatchObject({ ok: false, reason: 'invalid' });
    expect((outcomes[0] as { message: string }).message).not.toMatch(/ERROR|LINE|DETAIL|syntax/);
  });

  it('takes geography, odd names, and columns of curves', async () => {
    const id = await created('Odd "name', create({ 'a.b': 'x' }));
    expect((await item('Odd "name', id)).geometry).toEqual(JSON.parse(POINT));
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await created('curves', create({}, undefined, square));
    const { rows } = await client.query('SELECT GeometryType(geom) AS type FROM curves');
    expect(rows).toEqual([{ type: 'MULTISURFACE' }]);
  });
});

describe('keys', () => {
  it('are chosen by the client where the table does not number its rows', async () => {
    expect(await created('texts', create({ n: 1 }, "o'k"))).toBe("o'k");
    const again = await edit('texts', [create({ n: 1 }, "o'k")]);
    expect(again.outcomes[0]).toMatchObject({ ok: false, reason: 'conflict' });
    const none = await edit('texts', [create({ n: 1 })]);
    expect(none.outcomes[0]).toMatchObject({ ok: false, reason: 'invalid', errors: [{ name: '/id' }] });
    const uuid = 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
    expect(await created('Odd "name', create({}, uuid))).toBe(uuid);
  });

  it('are given by the table where it numbers them, so that its next number is free', async () => {
    const first = Number(await created('serials', create({}, '1000')));
    expect(Number(await created('serials', create({})))).toBe(first + 1);
  });
});

describe('rules of the database', () => {
  it('refuse what a check, a trigger, a foreign key or a deferred one does not allow', async () => {
    const refused = async (table: string, operation: EditOperation) =>
      (await edit(table, [operation])).outcomes[0];
    expect(await refused('texts', create({ n: 0 }, 'c'))).toEqual({
      ...{ ok: false, reason: 'invalid' },
      message: 'A value breaks the rule texts_n_check of the table.',
    });
    expect(await refused('texts', create({ n: 13 }, 'c'))).toMatchObject({
      ok: false,
      reason: 'invalid',
      message: 'The database rejected the row: thirteen brings bad luck.',
    });
    expect(await refused('serials', create({ parent: 99999 }))).toMatchObject({
      ok: false,
      reason: 'conflict',
    });
    const { rows } = await client.query('SELECT count(*)::int AS n FROM serials WHERE parent IS NOT NULL');
    expect(rows).toEqual([{ n: 0 }]);
  });

  it('refuse in words of their own, whatever SQLSTATE a trigger raises', async () => {
    await client.query(`
      CREATE TABLE raising (id serial PRIMARY KEY, code text, big text, geom geometry(Point, 4326));
      CREATE INDEX ON raising (big);
      CREATE FUNCTION raise_code() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.code = 'call' THEN PERFORM no_such_function(1);
        ELSIF NEW.code = 'table' THEN PERFORM FROM no_such_table;
        ELSIF NEW.code IS NOT NULL THEN RAISE EXCEPTION 'not today' USING ERRCODE = NEW.code, DETAIL = 'secret'; END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER raising BEFORE INSERT OR UPDATE ON raising FOR EACH ROW EXECUTE FUNCTION raise_code();
      CREATE TABLE late (id serial PRIMARY KEY, code text, geom geometry(Point, 4326));
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION raise_code()`);
    layers = (await discoverTables({ database: postgres.url })).layers;
    const outcome = async (table: string, properties: Record<string, unknown>) =>
      (await edit(table, [create(properties)])).outcomes[0];
    const raised = { ok: false, reason: 'invalid', message: 'The database rejected the row: not today.' };
    for (const code of ['AB123', 'P0002', '23505', '25006', '42501', '42P01', '22023', '45000'])
      expect(await outcome('raising', { code }), code).toEqual(raised);
    expect(await outcome('late', { code: 'AB123' })).toEqual(raised);
    for (const [code, state] of [
      ['call', '42883'],
      ['table', '42P01'],
    ] as const)
      expect(await outcome('raising', { code })).toEqual({
        ...{ ok: false, reason: 'conflict' },
        message: `The database rejected the edit (SQLSTATE ${state}).`,
      });
    const big = Array.from({ length: 2000 }, () => Math.random().toString(36)).join('');
    expect(await outcome('raising', { big })).toEqual({
      ...{ ok: false, reason: 'invalid' },
      message: 'A value is too long for an index of the table.',
    });
  });

  it('refuse a deletion that row security prevents', async () => {
    await client.query(`
      CREATE ROLE guest LOGIN; CREATE TABLE secured (id serial PRIMARY KEY, owner text, geom geometry(Point, 4326));
      INSERT INTO secured (owner) VALUES ('guest'), ('x');
      ALTER TABLE secured ENABLE ROW LEVEL SECURITY; GRANT ALL ON secured TO guest;
      CREATE POLICY reading ON secured FOR SELECT USING (true);
      CREATE POLICY writing ON secured FOR UPDATE USING (true);
      CREATE POLICY deleting ON secured FOR DELETE USING (owner = 'guest');
      GRANT ALL ON SCHEMA graticule_events TO guest; GRANT ALL ON ALL TABLES IN SCHEMA graticule_events TO guest;
      GRANT ALL ON ALL SEQUENCES IN SCHEMA graticule_events TO guest`);
    const url = new URL(postgres.url);
    url.username = 'guest';
    const { layers: seen } = await discoverTables({ database: url.href });
    const secured = seen.find(({ source: { table } }) => table === 'secured')!.source;
    const outcomes = async (id: string) =>
      (await edit('secured', [{ type: 'delete', id }], { source: secured })).outcomes;
    expect(await outcomes('1')).toEqual([{ ok: true, id: '1' }]);
    expect(await outcomes('2')).toEqual([
      {
        ...{ ok: false, reason: 'conflict' },
        message:
          "The database did not delete feature '2'. A trigger, a rule or a policy of the database prevents it.",
      },
    ]);
  });

  it('let edits through views with triggers whose query cannot lock rows', async () => {
    await client.query(`
      CREATE TABLE base (id serial PRIMARY KEY, name text, parent int, geom geometry(Point, 4326));
      CREATE FUNCTION through() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'INSERT' THEN INSERT INTO base (name, geom) VALUES (NEW.name, NEW.geom) RETURNING id INTO NEW.id; RETURN NEW;
        ELSIF TG_OP = 'UPDATE' THEN UPDATE base SET name = NEW.name WHERE id = OLD.id; RETURN NEW;
        ELSE DELETE FROM base WHERE id = OLD.id; RETURN OLD; END IF; END $$;
      CREATE VIEW joined AS SELECT c.id, c.name, c.geom, p.name AS parent FROM base c LEFT JOIN base p ON p.id = c.parent;
      CREATE VIEW distinct_rows AS SELECT DISTINCT id, name, geom FROM base;
      CREATE VIEW grouped AS SELECT id, max(name) AS name, geom FROM base GROUP BY id;
      CREATE TRIGGER through INSTEAD OF INSERT OR UPDATE OR DELETE ON joined FOR EACH ROW EXECUTE FUNCTION through();
      CREATE TRIGGER through INSTEAD OF INSERT OR UPDATE OR DELETE ON distinct_rows FOR EACH ROW EXECUTE FUNCTION through();
      CREATE TRIGGER through INSTEAD OF INSERT OR UPDATE OR DELETE ON grouped FOR EACH ROW EXECUTE FUNCTION through()`);
    layers = (await discoverTables({ database: postgres.url })).layers;
    for (const view of ['joined', 'distinct_rows', 'grouped']) {
      const id = await created(view, create({ name: 'new' }));
      const done = [{ ok: true, id }];
      const feature = { values: jsonTexts({ name: 'changed' }) };
      expect((await edit(view, [{ type: 'update', id, feature }])).outcomes, view).toEqual(done);
      expect((await item(view, id)).properties.name).toBe('changed');
      const replaced = { geometry: POINT, values: jsonTexts({ name: 'replaced' }) };
      expect((await edit(view, [{ type: 'replace', id, feature: replaced }])).outcomes).toEqual(done);
      expect((await edit(view, [{ type: 'delete', id }])).outcomes).toEqual(done);
    }
    expect((await client.query('SELECT count(*)::int AS n FROM base')).rows).toEqual([{ n: 0 }]);
  });

  it('let edits through a view that PostgreSQL can update, and no other', async () => {
    expect(source('seen').writable).toBe(true);
    const id = await created('seen', create({}));
    expect((await edit('seen', [{ type: 'delete', id }])).outcomes).toEqual([{ ok: true, id }]);
    expect(layers.find((layer) => layer.source.table === 'totals')?.source.writable ?? false).toBe(false);
  });

  it('say clearly that the outbox cannot be made', async () => {
    await client.query(`CREATE ROLE poor LOGIN; CREATE TABLE mine (id serial PRIMARY KEY, geom geometry(Point, 4326));
      ALTER TABLE mine OWNER TO poor; ALTER SCHEMA graticule_events RENAME TO away`);
    const url = new URL(postgres.url);
    url.username = 'poor';
    const mine = (await discoverTables({ database: url.href })).layers.find(
      ({ source }) => source.table === 'mine',
    )!;
    const { outcomes } = await edit('mine', [create({})], { source: mine.source });
    expect(outcomes[0]).toMatchObject({
      ok: false,
      reason: 'forbidden',
      message: expect.stringContaining('CREATE SCHEMA'),
    });
    await client.query('ALTER SCHEMA away RENAME TO graticule_events');
  });
});

describe('transactions', () => {
  it('number events in the order in which they can be seen, whoever writes', async () => {
    const seen: number[] = [];
    let reading = true;
    const reader = (async () => {
      const own = new pg.Client({ connectionString: postgres.url });
      await own.connect();
      let cursor = 0;
      while (reading) {
        const { rows } = await own.query(
          'SELECT cursor FROM graticule_events.outbox WHERE cursor > $1 ORDER BY cursor',
          [cursor],
        );
        for (const row of rows) seen.push(Number(row.cursor));
        cursor = seen.at(-1) ?? 0;
      }
      await own.end();
    })();
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let i = 0; i < 12; i++) await edit('serials', [create({}), create({}), create({})]);
      }),
    );
    reading = false;
    await reader;
    const { rows } = await client.query('SELECT cursor FROM graticule_events.outbox ORDER BY cursor');
    const all = rows.map((row) => Number(row.cursor));
    // A reader that goes on from the last cursor it saw has missed none.
    expect(seen).toEqual(all.slice(0, seen.length));
    expect(seen.length).toBeGreaterThan(0);
  });

  it('are not tried twice, and free the connection, when another holds the row', async () => {
    const id = await created('serials', create({}));
    const other = new pg.Client({ connectionString: postgres.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query('UPDATE serials SET geom = NULL WHERE id = $1', [id]);
    const waiting = edit('serials', [{ type: 'delete', id }]);
    await other.query('COMMIT');
    await other.end();
    expect((await waiting).outcomes).toEqual([{ ok: true, id }]);
  });
});
