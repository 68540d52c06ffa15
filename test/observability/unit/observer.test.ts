import { expect, it } from 'vitest';
import type { AnswerNote, AskNote } from '../../../src/core/cluster/notes.js';
import { Peers } from '../../../src/services/cluster/peers.js';
import { Exceptions } from '../../../src/services/observability/exceptions.js';
import { Observer } from '../../../src/services/observability/observer.js';
import { RecentItems } from '../../../src/services/observability/recent-items.js';

/** Observers of processes that hear each other. */
function observers(count: number): Observer[] {
  const peers: Peers[] = [];
  for (let i = 0; i < count; i++) {
    const tell = (note: AskNote | AnswerNote) =>
      queueMicrotask(() => {
        for (const [j, other] of peers.entries()) if (j !== i) other.hear(structuredClone(note));
      });
    const others = Array.from({ length: count }, (_, j) => `p${j}`).filter((_, j) => j !== i);
    peers.push(new Peers(`p${i}`, () => others, tell));
  }
  return peers.map((one, i) => new Observer(`p${i}`, one));
}

const failures = async (observer: Observer) =>
  (await observer.failures()).items.map(
    ({ instance, statusCode, path }) => `${instance} ${statusCode} ${path}`,
  );

const note = (one: Observer, statusCode: number, path: string, message: string, correlationId: string) =>
  one.noteFailure({ statusCode, path, message, correlationId, actor: 'anonymous', remoteIp: '192.0.2.1' });

it('a ring keeps the last items, newest first', () => {
  const ring = new RecentItems<number>(3);
  expect(ring.list()).toEqual([]);
  for (let i = 1; i <= 2; i++) ring.add(i);
  expect(ring.list()).toEqual([2, 1]);
  for (let i = 3; i <= 7; i++) ring.add(i);
  expect(ring.list()).toEqual([7, 6, 5]);
});

it('failed requests are kept beside any number of refused ones', async () => {
  const [first, second] = observers(2) as [Observer, Observer];
  note(first, 500, '/a', 'broken', 'c1');
  note(second, 503, '/b', 'busy', 'c2');
  for (let i = 0; i < 5000; i++) {
    note(first, 404, '/nothing', 'not found', `n${i}`);
    note(first, 401, '/secret', 'no key', `n${i}`);
    note(first, 501, '/later', 'not built', `n${i}`);
    note(first, 429, '/often', 'too many', `n${i}`);
    note(first, 504, '/slow', 'too late', `n${i}`);
  }
  for (const one of [first, second]) {
    const all = await failures(one);
    expect(all.filter((text) => / 5/.test(text) && !text.endsWith('/slow')).sort()).toEqual([
      'p0 500 /a',
      'p1 503 /b',
    ]);
    expect(new Set(all)).toEqual(new Set(['p0 500 /a', 'p1 503 /b', 'p0 429 /often', 'p0 504 /slow']));
    expect(all.length).toBeLessThanOrEqual(2 * Observer.failedCapacity);
  }
});

it('lines of errors are kept beside any number of warnings', async () => {
  const [one] = observers(1) as [Observer];
  one.noteLine('http.request.failed', { Path: '/a', CorrelationId: 'c', StatusCode: 500 }, 'broken');
  for (let i = 0; i < 1000; i++) one.noteLine('catalog.doubtful', {}, `doubt ${i}`);
  const { items, missing } = await one.lines();
  expect(missing).toEqual([]);
  expect(items.filter(({ level }) => level === 'error')).toEqual([
    {
      ...{
        at: expect.any(Number),
        instance: 'p0',
        number: 1,
        traceId: undefined,
        level: 'error',
        statusCode: 500,
        message: 'broken',
      },
      ...{ path: '/a', correlationId: 'c' },
    },
  ]);
  expect(items.filter(({ level }) => level === 'warning').at(0)).toMatchObject({
    message: 'doubt 999',
    statusCode: 0,
  });
});

it('exceptions are counted over all processes, and listed by severity', async () => {
  const [first, second] = observers(2) as [Observer, Observer];
  const stack = (error: Error) => ({
    '@x': error.stack,
    Operation: 'ogc.items',
    Path: '/p',
    CorrelationId: 'c',
  });
  first.noteLine('http.request.failed', stack(new TypeError('x is not a function')), 'failed');
  for (let i = 0; i < 3; i++)
    second.noteLine('catalog.source.quarantined', stack(new RangeError('too far')), 'skipped');
  second.noteLine('process.exception', { '@x': 'SqliteError: disk I/O error\n    at x' }, 'exits');
  second.noteLine('catalog.doubtful', {}, 'without an exception');
  const { counts } = await first.exceptionCounts();
  expect(counts).toEqual({
    byCategory: { http: 1, catalog: 3, process: 1 },
    bySeverity: { Low: 0, Medium: 3, High: 1, Critical: 1 },
    types: [
      { type: 'RangeError', count: 3, lastAt: expect.any(Number) },
      { type: 'TypeError', count: 1, lastAt: expect.any(Number) },
      { type: 'SqliteError', count: 1, lastAt: expect.any(Number) },
    ],
    recentCount: 5,
  });
  const { items } = await first.exceptions('High');
  expect(items).toEqual([
    expect.objectContaining({
      ...{ type: 'TypeError', message: 'x is not a function', operation: 'ogc.items', path: '/p' },
      ...{ correlationId: 'c', instance: 'p0', event: 'http.request.failed' },
    }),
  ]);
  expect((await second.exceptions(undefined)).items).toHaveLength(5);
});

it('types of exceptions that no program has are counted together', async () => {
  const [one] = observers(1) as [Observer];
  for (let i = 0; i < 500; i++) one.noteLine('http.request.failed', { '@x': `Error${i}: made up` }, 'failed');
  const { counts } = await one.exceptionCounts();
  expect(counts.types.length).toBe(101);
  expect(counts.types[0]).toMatchObject({ type: 'other', count: 400 });
});

it('a process lists the most frequent types of exceptions first', () => {
  const exceptions = new Exceptions('p0');
  for (const type of ['TypeError', 'RangeError', 'RangeError'])
    exceptions.add('http.request.failed', { '@x': `${type}: x` }, 1000);
  expect(exceptions.counts(1000).types.map(({ type }) => type)).toEqual(['RangeError', 'TypeError']);
});
