import PgNative from 'pg-native';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type PgError, type PgValue, PostgresConnection } from '../../../src/native/postgres.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';

const CONNECT_MS = 5000;

let postgres: TestPostgres;
let connection: PostgresConnection;

beforeAll(async () => {
  postgres = await startPostgres();
  connection = new PostgresConnection();
  await connection.connect(postgres.url, CONNECT_MS);
});
afterAll(async () => {
  connection?.close();
  await postgres?.stop();
});

const one = async (sql: string, params: (string | null)[] = []): Promise<PgValue> =>
  (await connection.query(`SELECT ${sql}`, params))[0]![0]!;

async function failure(promise: Promise<unknown>): Promise<PgError> {
  return promise.then(
    () => {
      throw new Error('it did not fail');
    },
    (error: PgError) => error,
  );
}

describe('values', () => {
  it('are those of another client of libpq', async () => {
    const sql = `SELECT n, n * 1.1::float8 AS real, n::float4 / 3 AS single, n % 3 = 0 AS third, md5(n::text) AS text,
      CASE WHEN n % 5 = 0 THEN NULL ELSE n - 500 END AS gap FROM generate_series(1, 1000) n`;
    const client = new PgNative();
    client.connectSync(postgres.url);
    const expected = client.querySync(sql).map((row) => Object.values(row));
    client.end();
    expect(await connection.query(sql, [])).toEqual(expected);
    expect(expected).toHaveLength(1000);
  });

  it.each([
    ["'t'::bool", true],
    ['(-32768)::int2', -32768],
    ['2147483647', 2147483647],
    ['9007199254740991::int8', 9007199254740991],
    ['9007199254740993::int8', 9007199254740993n],
    ['(-9223372036854775808)::int8', -9223372036854775808n],
    ['0.1::float4', 0.1],
    ['3.4028235e38::float4', 3.4028235e38],
    ['1e-300::float8', 1e-300],
    ["'NaN'::float8", null],
    ["'Infinity'::float4", null],
    ["''::text", ''],
    ["'ä\u{1F600}'::varchar(5)", 'ä\u{1F600}'],
    ["'ab'::char(4)", 'ab  '],
    ["'pg_class'::name", 'pg_class'],
    ["'7fc2c4f0-0e1f-4a5b-9c3d-000102030405'::uuid", '7fc2c4f0-0e1f-4a5b-9c3d-000102030405'],
    [`'{"a": [1]}'::json`, '{"a": [1]}'],
    [`'{"a": [1]}'::jsonb`, '{"a": [1]}'],
    ["'2000-02-29'::date", '2000-02-29'],
    ["'1969-12-31'::date", '1969-12-31'],
    ["'0044-03-15 BC'::date", '-000043-03-15'],
    ["'12345-01-01'::date", '+012345-01-01'],
    ["'5874897-12-31'::date", '+5874897-12-31'],
    ["'infinity'::date", null],
    ["'2024-01-02 03:04:05'::timestamp", '2024-01-02T03:04:05Z'],
    ["'1999-12-31 23:59:59.000001'::timestamp", '1999-12-31T23:59:59.000001Z'],
    ["'2024-07-01 12:00:00.5+02'::timestamptz", '2024-07-01T10:00:00.5Z'],
    ["'-infinity'::timestamptz", null],
    ['NULL::int4', null],
  ])('reads %s', async (sql, value) => {
    expect(await one(sql)).toEqual(value);
  });

  it.each([
    '0',
    '1',
    '-1.50',
    '0.0001',
    '-0.00012345678901234567890',
    '10000',
    '99999999.99999999',
    '123456789012345678901234567890.123456789',
    '1e40',
    '100000000',
    '1e-20',
  ])('reads numeric %s as PostgreSQL writes it', async (number) => {
    const [[read, written]] = (await connection.query('SELECT n, n::text FROM (SELECT $1::numeric AS n) v', [
      number,
    ])) as [[PgValue, PgValue]];
    expect(read).toBe(written);
  });

  it('reads every day of four centuries as PostgreSQL writes it', async () => {
    const wrong = (
      await connection.query(`SELECT d, to_char(d, 'YYYY-MM-DD')
      FROM (SELECT '1799-01-01'::date + i AS d FROM generate_series(0, 160000, 13) i) days`)
    ).filter(([read, written]) => read !== written);
    expect(wrong).toEqual([]);
  });

  it('reads bytes', async () => {
    expect(await one("'\\x00ff'::bytea")).toEqual(Buffer.from([0, 255]));
    expect(await one("''::bytea")).toEqual(Buffer.alloc(0));
  });

  it('sends parameters of any content', async () => {
    const text = `'; DROP TABLE x; -- " \\ ä \u{1F600}`;
    expect(await one('$1::text', [text])).toBe(text);
    expect(await one('$1::int4 IS NULL', [null])).toBe(true);
  });
});

describe('statements', () => {
  it('are prepared when asked again, and let go', async () => {
    for (let round = 0; round < 3; round++) for (let i = 0; i < 200; i++) expect(await one(`${i}`)).toBe(i);
    for (let i = 0; i < 5; i++) expect(await one('4711')).toBe(4711);
    expect(await one('count(*) FROM pg_prepared_statements')).toBeLessThanOrEqual(64);
    expect(await one("count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 4711'")).toBe(1);
  });

  it('fail with their SQLSTATE, and the connection goes on', async () => {
    expect(await failure(connection.query('SELECT 1/0'))).toMatchObject({ code: '22012', alive: true });
    expect(await failure(connection.query('SELEC'))).toMatchObject({ code: '42601', alive: true });
    expect(
      await failure(connection.query('SELECT 1/(1000-i) FROM generate_series(1, 2000) i')),
    ).toMatchObject({
      code: '22012',
    });
    expect(await one('1')).toBe(1);
  });

  it('end a failed transaction although no further statement can be kept', async () => {
    const own = new PostgresConnection();
    await own.connect(postgres.url, CONNECT_MS);
    try {
      // Twice, so that all of them are prepared: the connection keeps 64.
      for (let n = 0; n < 140; n++) await own.query(`SELECT ${n % 70}`);
      for (let n = 0; n < 140; n++) await own.query(`SELECT ${70 + Math.floor(n / 2)}`);
      await own.query('BEGIN');
      await own.query('SAVEPOINT before');
      expect((await failure(own.query('SELECT 1 / 0'))).code).toBe('22012');
      await own.query('ROLLBACK TO SAVEPOINT before');
      expect(await own.query('SELECT 1')).toEqual([[1]]);
      await own.query('COMMIT');
    } finally {
      own.close();
    }
  });

  it('come in batches, and end early', async () => {
    const seen: number[] = [];
    const series = 'SELECT i, repeat(i::text, 10) FROM generate_series(1, 10000) i';
    for await (const rows of connection.rows(series, [], 999)) seen.push(rows.length);
    expect(seen.reduce((a, b) => a + b)).toBe(10_000);
    for await (const rows of connection.rows('SELECT generate_series(1, 100000000)', [], 10)) {
      expect(rows).toHaveLength(10);
      break;
    }
    expect(await one('1')).toBe(1);
  });

  it('refuse a second one meanwhile', async () => {
    const slow = connection.query('SELECT pg_sleep(0.1)');
    expect(() => connection.query('SELECT 1')).toThrow('in use');
    await slow;
  });
});

describe('ends', () => {
  it('a running statement when it is cancelled', async () => {
    const sleeping = failure(connection.query('SELECT pg_sleep(60)'));
    setTimeout(() => connection.cancel(), 50);
    expect(await sleeping).toMatchObject({ code: '57014', alive: true });
    expect(await one('1')).toBe(1);
  });

  it('a statement that pours out rows when it is cancelled', async () => {
    const pouring = failure(
      connection.page('SELECT generate_series(1, 1000000000), NULL', [], pageOptions({ limit: 1e9 })),
    );
    setTimeout(() => connection.cancel(), 50);
    expect(await pouring).toMatchObject({ code: '57014' });
  });

  it('with an error when the server ends the session', async () => {
    const other = new PostgresConnection();
    await other.connect(postgres.url, CONNECT_MS);
    const [[pid]] = (await other.query('SELECT pg_backend_pid()')) as [[number]];
    const sleeping = failure(other.query('SELECT pg_sleep(60)'));
    await connection.query('SELECT pg_terminate_backend($1::int4)', [String(pid)]);
    expect(await sleeping).toMatchObject({ code: '57P01', alive: false });
    expect(await failure(other.query('SELECT 1'))).toMatchObject({ code: '08006', alive: false });
    other.close();
  });

  it.each([
    ['a database that is not there', () => postgres.url.replace('/postgres?', '/nowhere?'), '3D000'],
    ['a user that is not there', () => postgres.url.replace('graticule@', 'nobody@'), '28000'],
    ['a URL that cannot be read', () => 'postgresql://u:s%ecret@h/d', '08001'],
    ['parameters that libpq does not know', () => 'postgresql://h/d?pass=secret', '08001'],
  ])('an attempt to connect to %s', async (_, bad, code) => {
    const other = new PostgresConnection();
    const error = await failure(other.connect(bad(), CONNECT_MS));
    expect(error).toMatchObject({ code, alive: false });
    expect(error.message).not.toContain('cret');
  });

  it('an attempt to connect to nobody', async () => {
    const other = new PostgresConnection();
    const nobody = failure(other.connect('postgresql://u:secret@127.0.0.1:1/x', CONNECT_MS));
    const error = await nobody;
    expect(error).toMatchObject({ code: '08001' });
    expect(error.message).not.toContain('secret');
  });
});

const pageOptions = (options: Partial<Parameters<PostgresConnection['page']>[2]>) => ({
  outputs: [
    {
      format: 'geojson' as const,
      options: JSON.stringify({ fields: ['a'], from: 'EPSG:4326', to: 'EPSG:4326' }),
      columns: [2],
      geometry: true,
    },
  ],
  keys: [3],
  limit: 10,
  ...options,
});

describe('pages', () => {
  const text = (bytes: Uint8Array) => JSON.parse(`[${Buffer.from(bytes).toString()}]`);
  const rows = `SELECT i, ST_SetSRID(ST_MakePoint(i, 1), 4326), 'v' || i, (i * 2)::text
    FROM generate_series(1, 5) i ORDER BY i`;

  it('are written with their keys', async () => {
    const page = await connection.page(rows, [], pageOptions({ limit: 3 }));
    expect(page).toMatchObject({ returned: 3, more: true });
    expect(page.first).toEqual({ id: '1', values: ['2'] });
    expect(page.last).toEqual({ id: '3', values: ['6'] });
    expect(text(page.outputs[0]!)[2]).toEqual({
      type: 'Feature',
      id: 3,
      geometry: { type: 'Point', coordinates: [3, 1] },
      properties: { a: 'v3' },
    });
  });

  it('tell when nothing follows', async () => {
    expect(await connection.page(rows, [], pageOptions({ limit: 5 }))).toMatchObject({
      returned: 5,
      more: false,
    });
  });

  it('are turned round', async () => {
    const page = await connection.page(`${rows} DESC`, [], pageOptions({ limit: 3, reverse: true }));
    expect(text(page.outputs[0]!).map((f: { id: number }) => f.id)).toEqual([3, 4, 5]);
    expect(page).toMatchObject({ more: true, first: { id: '3' }, last: { id: '5' } });
  });

  it('end when they are heavy', async () => {
    const page = await connection.page(
      'SELECT generate_series(1, 100000000), NULL, NULL, NULL',
      [],
      pageOptions({ limit: 1e6, maxBytes: 1000 }),
    );
    expect(page.more).toBe(true);
    expect(page.returned).toBeLessThan(30);
    expect(page.outputs[0]!.length).toBeLessThan(1200);
  });

  it('reject options that cannot be used', async () => {
    const outputs = [{ format: 'geojson' as const, options: '{}', columns: [], geometry: true }];
    expect(await failure(connection.page(rows, [], pageOptions({ outputs })))).toMatchObject({
      code: '22023',
      alive: true,
    });
    expect(await one('1')).toBe(1);
  });
});
