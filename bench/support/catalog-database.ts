import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../../test/support/postgres.js';
import { publishPart } from './report.js';
import { type GraticuleServer, startGraticule } from './server.js';

const PORT = 18_092;
const KEY = 'bench-bench-bench-bench';

/** Tables with features, and others without any. */
const MAKE = `
CREATE PROCEDURE make_tables(prefix text, first int, last int, has_rows bool) LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN first..last LOOP
    EXECUTE format('CREATE TABLE %s%s (fid int %s, name text, geom geometry(Point, 4326))',
      prefix, i, CASE WHEN has_rows THEN 'PRIMARY KEY' END);
    IF has_rows THEN
      EXECUTE format('INSERT INTO %s%s SELECT n, ''point '' || n, ST_SetSRID(ST_MakePoint(n, n), 4326)
        FROM generate_series(1, 10) n', prefix, i);
    END IF;
    IF i % 200 = 0 THEN COMMIT; END IF;
  END LOOP;
END $$`;

const residentMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

async function countCollections({ origin }: GraticuleServer): Promise<number> {
  const response = await fetch(`${origin}/ogc/features/collections?f=json&limit=1`);
  return ((await response.json()) as { numberMatched: number }).numberMatched;
}

interface Start {
  readonly seconds: number;
  readonly memory: number;
  readonly findings: string[];
}

/** A start on a new data folder, until so many collections are there. */
async function measureStart(url: string, count: number, env: Record<string, string>): Promise<Start> {
  const began = performance.now();
  const server = await startGraticule([url], { port: PORT, cores: '0-1', env });
  try {
    while ((await countCollections(server)) < count) await sleep(100);
    const seconds = (performance.now() - began) / 1000;
    const status = await fetch(`${server.origin}/healthz/metrics`, { headers: { 'x-api-key': KEY } });
    const findings = (await status.text()).match(/[^"]*tables are omitted[^"]*/g) ?? [];
    return { seconds, memory: residentMb(server.pid), findings };
  } finally {
    await server.stop();
  }
}

/** How long a start takes on a database of many tables, of which few are published. */
export async function measureDatabase(tables: number, published: number, rounds: number): Promise<void> {
  const postgres = await startPostgres(['shared_buffers=512MB', 'max_wal_size=4GB']);
  try {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query('CREATE SCHEMA published; CREATE SCHEMA other');
    await client.query(MAKE);
    await client.query(`CALL make_tables('published.t', 1, ${published}, true)`);
    await client.query(`CALL make_tables('other.t', 1, ${tables - published}, false)`);
    await client.query('VACUUM ANALYZE pg_class, pg_attribute, pg_index, pg_depend, pg_type, pg_description');
    await client.end();
    const rules = {
      'include published.*': { SVC_POSTGIS__INCLUDE: '["published.*"]' },
      'exclude other.*': { SVC_POSTGIS__EXCLUDE: '["other.*"]' },
    };
    const figures = [];
    for (const [name, env] of Object.entries(rules)) {
      const starts: Start[] = [];
      for (let i = 0; i < rounds; i++) starts.push(await measureStart(postgres.url, published, env));
      figures.push({
        name,
        rounds: { 'start s': starts.map(({ seconds }) => seconds), MB: starts.map(({ memory }) => memory) },
      });
    }
    const limit = { SVC_POSTGIS__INCLUDE: '["published.*"]', SVC_POSTGIS__MAX_TABLES: '1' };
    const { seconds, findings } = await measureStart(postgres.url, 1, limit);
    publishPart('database', {
      bench: 'catalog',
      command: `./run bench catalog --part database --rounds ${rounds}`,
      about: `Seconds from the start of a server, with a new data folder, until ${published} tables of a PostGIS database are published that has ${tables} tables with a geometry column; memory of the gateway then. The published tables have 10 points each, and the others are empty.`,
      figures,
      ratios: [],
      notes: [
        `With \`postgis.maxTables\` 1, a start takes ${seconds.toFixed(1)} s, and a finding of the catalog says: ${findings[0] ?? 'nothing'}`,
      ],
    });
  } finally {
    await postgres.stop();
  }
}
