import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startPostgres } from '../test/support/postgres.js';
import { option, publish } from './support/report.js';

/**
 * Where PostgreSQL's NOTIFY would be the limit of the feed. Edits of PostGIS tables notify in their transaction, and
 * PostgreSQL lets transactions that notify commit one at a time: the same transactions are tried with and without it,
 * heard by as many connections as twenty servers have, and beside them the row that gives events of the feed their order.
 */
const rounds = option('rounds', 5);
const seconds = option('seconds', 4);
const LISTENERS = option('listeners', 20);
const CLIENTS = 8;

const EDIT = `\\set id random(1, 100000)
BEGIN;
UPDATE edited SET n = n + 1 WHERE id = :id;
INSERT INTO outbox (feature, body) VALUES (:id, repeat('x', 400));`;
const SCRIPTS = {
  'an edit and its outbox row': `${EDIT}\nCOMMIT;`,
  'the same with NOTIFY': `${EDIT}\nNOTIFY told;\nCOMMIT;`,
  'the row of the feed': `BEGIN;\nUPDATE feed_end SET cursor = cursor + 1;\nINSERT INTO feed (body) VALUES (repeat('x', 400));\nCOMMIT;`,
} as const;
type Script = keyof typeof SCRIPTS;
const NAMES = Object.keys(SCRIPTS) as Script[];

const postgres = await startPostgres(['shared_buffers=256MB']);
const client = new pg.Client(postgres.url);
await client.connect();
await client.query(`CREATE TABLE edited (id int PRIMARY KEY, n int NOT NULL);
  INSERT INTO edited SELECT i, 0 FROM generate_series(1, 100000) i;
  CREATE TABLE outbox (cursor bigserial PRIMARY KEY, feature int, body text);
  CREATE TABLE feed_end (cursor bigint NOT NULL);
  INSERT INTO feed_end VALUES (0);
  CREATE TABLE feed (cursor bigserial PRIMARY KEY, body text)`);

let heard = 0;
const listeners: pg.Client[] = [];
for (let i = 0; i < LISTENERS; i++) {
  const listener = new pg.Client(postgres.url);
  await listener.connect();
  listener.on('notification', () => heard++);
  await listener.query('LISTEN told');
  listeners.push(listener);
}

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const pgbench = execFileSync('sh', ['-c', 'ls /usr/lib/postgresql/*/bin/pgbench | tail -1'], {
  encoding: 'utf8',
}).trim();

/** Transactions in a second. */
function run(name: Script): number {
  const script = join(folder, 'script.sql');
  writeFileSync(script, SCRIPTS[name]);
  const out = execFileSync(
    pgbench,
    [
      ...['-n', '-M', 'prepared', '-c', String(CLIENTS), '-j', '1', '-T', String(seconds)],
      '-f',
      script,
      postgres.url,
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return Number(/tps = ([\d.]+)/.exec(out)![1]);
}

const rates = new Map<Script, number[]>(NAMES.map((name) => [name, []]));
for (let round = 0; round <= rounds; round++) {
  for (const name of NAMES) {
    const rate = run(name);
    if (round > 0) rates.get(name)!.push(rate);
  }
}
await Promise.all(listeners.map((listener) => listener.end()));
await client.end();
await postgres.stop();
rmSync(folder, { recursive: true });

const [plain, told, ordered] = NAMES.map((name) => rates.get(name)!) as [number[], number[], number[]];
publish({
  bench: 'notify',
  command: `./run bench notify --rounds ${rounds} --seconds ${seconds} --listeners ${LISTENERS}`,
  about: `${CLIENTS} connections that commit all the time, by pgbench; ${LISTENERS} that listen. PostgreSQL does not synchronise its log here, so that the disk is not what bounds it; all share both cores.`,
  figures: NAMES.map((name) => ({ name, rounds: { 'transactions/s': rates.get(name)! } })),
  ratios: [
    { what: 'transactions, with NOTIFY / without', rounds: told.map((rate, i) => rate / plain[i]!) },
    {
      what: 'transactions, with NOTIFY / the row of the feed',
      rounds: told.map((rate, i) => rate / ordered[i]!),
    },
  ],
  notes: [`${heard} notifications were heard`],
});
