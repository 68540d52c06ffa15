import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keepConnections } from '../../support/connections.js';
import { isFullRun, repetitions } from '../../support/soak.js';
import { ANY_STATUS, OPERATIONS, type Operation } from './support/operations.js';
import type { Audience, Known, Layer } from './support/oracle.js';
import { executeAs, executeTask, PROCESS_CASES, TASK_CASES, WITHOUT_LAYERS } from './support/processes.js';
import { startWorld, type World } from './support/world.js';

/**
 * Every operation of the data, asked by every kind of caller, on both stores, before and after others have filled the
 * caches. What an answer may hold, SQL over the same table says: each row has a text and a place of its own, so that a
 * leak is found by searching the answer, and a refusal of what may be known by missing it there. A brief run has one caller
 * of each kind.
 */

const IS_FULL = isFullRun(import.meta.url);

let world: World;

afterAll(keepConnections());
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const ALL: readonly Audience[] = [
  'administrator',
  'reader',
  'anonymous',
  'masked',
  'nulled',
  'hashed',
  'truncated',
  'limited',
  'claimless',
  'unfit',
  'both',
  'revoked',
];
const AUDIENCES: readonly Audience[] = IS_FULL
  ? ALL
  : ['administrator', 'anonymous', 'hashed', 'claimless', 'both', 'revoked'];

/** Who executes processes, and GP tasks. */
const EXECUTING: readonly Audience[] = IS_FULL ? ['claimless', 'unfit', 'limited', 'masked'] : ['limited'];
const TASK_CALLERS: readonly Audience[] = IS_FULL ? ['claimless', 'limited'] : ['limited'];

interface Answer {
  readonly status: number;
  /** Of text: as it is; of bytes: each as a character. */
  readonly text: string;
}

async function ask(operation: Operation, at: Layer, other: Layer, audience: Audience): Promise<Answer> {
  const { path, ...init } = operation.request(at, other);
  const response = await world.fetch(audience, path, init);
  const bytes = Buffer.from(await response.arrayBuffer());
  const head = [...response.headers].map((pair) => pair.join(': ')).join('\n');
  return { status: response.status, text: `${head}\n\n${bytes.toString('latin1')}` };
}

const NOWHERE: Layer = { id: 'nowhere', layerId: 0 };

/** Digits of ids and of other numbers are no amount. */
const holds = (text: string, secret: string) =>
  text.includes(secret) && (!/^\d+$/.test(secret) || new RegExp(`(?<![\\w.])${secret}(?![\\w.])`).test(text));

const LEAKS = 'leaks ';
const isLeak = (complaint: string) => complaint.startsWith(LEAKS);

/** What is wrong with an answer; nothing for most. */
function complaints(operation: Operation, { status, text }: Answer, known: Known): string[] {
  const expected = operation.status?.(known) ?? 200;
  if (status !== expected && expected !== ANY_STATUS)
    return [`status ${status} in place of ${expected}: ${text.slice(-200)}`];
  // What a request names comes back in links and in errors.
  const asked = JSON.stringify(operation.request(NOWHERE, NOWHERE));
  const leaks = known.hidden
    .filter((secret) => holds(text, secret) && !asked.includes(secret))
    .map((secret) => `${LEAKS}${secret}`);
  if (status >= 400) return leaks;
  return [...leaks, ...operation.missing(text, known)];
}

let asked = 0;

async function tour(order: readonly Audience[], store: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const audience of order) {
    const results = OPERATIONS.map(async (operation) => {
      const at = world.layer(`${store}_${operation.table ?? 'sites'}`);
      const known = world.oracle.known(audience, operation.table ?? 'sites');
      const other = world.layer(`${store}_others`);
      let found = complaints(operation, await ask(operation, at, other, audience), known);
      // What rules leave is counted for two seconds, then left out; a busy machine needs longer. Leaks are never excused.
      for (let tries = 0; tries < 20 && found.length > 0 && !found.some(isLeak); tries++) {
        await sleep(500);
        found = complaints(operation, await ask(operation, at, other, audience), known);
      }
      asked += 1;
      wrong.push(...found.map((complaint) => `${store} ${audience} ${operation.name}: ${complaint}`));
    });
    await Promise.all(results);
  }
  return wrong;
}

async function pixels(path: string, audience: Audience): Promise<Buffer> {
  const response = await world.fetch(audience, path);
  expect(response.status).toBe(200);
  return sharp(Buffer.from(await response.arrayBuffer()))
    .raw()
    .toBuffer();
}

describe('the matrix of policies', () => {
  it('leaks nothing and refuses nothing, whoever asks first', async () => {
    const wrong: string[] = [];
    const rounds = repetitions(import.meta.url, 3, 2);
    for (const store of world.stores) {
      wrong.push(...(await tour(AUDIENCES, store)));
      await world.admin('POST', '/cache/invalidate', { scope: 'all' });
      wrong.push(...(await tour([...AUDIENCES].reverse(), store)));
      // Each caller has asked before each other one by now. What all have filled is met as well in a soak.
      for (let round = 2; round < rounds; round++) wrong.push(...(await tour(AUDIENCES, store)));
    }
    console.log(
      `matrix: ${AUDIENCES.length} callers x ${OPERATIONS.length} operations x 2 stores x ${rounds} rounds = ${asked} answers`,
    );
    expect(wrong.slice(0, 60)).toEqual([]);
    expect(asked).toBe(AUDIENCES.length * OPERATIONS.length * 2 * rounds);
  });

  it('has a case for each process', async () => {
    const response = await world.fetch('administrator', '/ogc/processes/processes?limit=1000');
    const { processes } = (await response.json()) as { processes: { id: string }[] };
    const cases = [...PROCESS_CASES.map(({ id }) => id), ...WITHOUT_LAYERS];
    expect(cases.sort()).toEqual(processes.map(({ id }) => id).sort());
  });

  it('processes no hidden row, whoever executes', async () => {
    const wrong: string[] = [];
    let executed = 0;
    // The callers wait for their own jobs alone.
    const executeAll = async (store: string, audience: Audience) => {
      const known = world.oracle.known(audience, 'sites');
      for (const { id, process = id, inputs, showsRows, isRefused } of PROCESS_CASES) {
        const body = { inputs: inputs(world.layer(`${store}_sites`), world.layer(`${store}_others`)) };
        const { status, text } = await executeAs(world, known, process, body);
        executed += 1;
        const at = `${store} ${audience} ${id}`;
        for (const secret of known.hidden) if (holds(text, secret)) wrong.push(`${at}: leaks ${secret}`);
        if (isRefused ? status !== '400' : known.rows.length > 0 && status !== 'successful')
          wrong.push(`${at}: ${status} ${text.slice(-300)}`);
        else if (showsRows)
          for (const { token } of known.rows) if (!text.includes(token)) wrong.push(`${at}: lacks ${token}`);
      }
    };
    for (const store of world.stores)
      await Promise.all(EXECUTING.map((audience) => executeAll(store, audience)));
    console.log(
      `matrix: ${EXECUTING.length} callers x ${PROCESS_CASES.length} processes x 2 stores = ${executed} jobs`,
    );
    expect(wrong.slice(0, 60)).toEqual([]);
  });

  it('gives no hidden row to GP tasks', async () => {
    const wrong: string[] = [];
    for (const audience of TASK_CALLERS) {
      const known = world.oracle.known(audience, 'sites');
      for (const { id, inputs, showsRows } of TASK_CASES) {
        const own = inputs(world.layer('pg_sites'), world.layer('pg_others'));
        const { status, text } = await executeTask(world, audience, id, own);
        const leaks = known.hidden.filter((secret) => holds(text, secret)).map((secret) => `leaks ${secret}`);
        const isWrong = known.rows.length > 0 && status !== 'successful';
        const lacks = showsRows ? known.rows.filter(({ token }) => !text.includes(token)) : [];
        wrong.push(
          ...[...leaks, ...(isWrong ? [text.slice(0, 300)] : [])].map((one) => `${audience} ${id}: ${one}`),
        );
        wrong.push(...lacks.map(({ token }) => `${audience} ${id}: lacks ${token}`));
      }
    }
    const [callers, tasks] = [TASK_CALLERS.length, TASK_CASES.length];
    console.log(`matrix: ${callers} callers x ${tasks} GP tasks = ${callers * tasks} answers`);
    expect(wrong.slice(0, 60)).toEqual([]);
  });

  it('draws the rows that may be seen, and no others', async () => {
    const filter = encodeURIComponent("country IN ('CHE', 'FRA') AND level IN (1, 2)");
    for (const store of world.stores) {
      for (const [audience, like] of [
        ['limited', 'administrator'],
        ['both', 'masked'],
      ] as const) {
        const path = `/tiles/${store}_sites/5/16/11.png`;
        const [own, all, part] = await Promise.all([
          pixels(path, audience),
          pixels(path, like),
          pixels(`${path}?filter=${filter}`, like),
        ]);
        expect(own.equals(part), `${store} ${audience}`).toBe(true);
        expect(own.equals(all), `${store} ${audience}`).toBe(false);
      }
    }
  });

  it('computes nothing of hidden rows, of which a failure would tell', async () => {
    await world.admin('POST', '/roles', { name: 'nearby' });
    for (const store of world.stores) {
      const id = `${store}_sites`;
      // The database takes such a condition for far dearer than arithmetic.
      const filter = 'S_INTERSECTS(geom, POLYGON((7 46, 9 46, 9 47, 7 47, 7 46)))';
      await world.admin('POST', '/rls-policies', { service: '*', layer: id, role: 'nearby', filter });
      const permissions = ['role:nearby'];
      const { key } = await world.admin<{ key: string }>('POST', '/api-keys', { name: 'near', permissions });
      const ask = async (query: string) => {
        const path = `/ogc/features/collections/${id}/items?f=json${query}`;
        const response = await world.fetch('anonymous', path, { headers: { 'x-api-key': key } });
        const { features = [] } = (await response.json()) as { features?: { id: number }[] };
        return [response.status, ...features.map((feature) => feature.id)];
      };
      // Other rows have levels of which this is too large a number.
      const fails = `&filter=${encodeURIComponent('level * 6e307 > 0')}`;
      expect(await ask('')).toEqual([200, 4, 5]);
      expect(await ask(fails)).toEqual([200, 4, 5]);
    }
  });
});
