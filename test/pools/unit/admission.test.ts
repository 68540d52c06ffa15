import { describe, expect, it } from 'vitest';
import type { Expression } from '../../../src/core/cql2/index.js';
import type { Caller } from '../../../src/core/kit/callers.js';
import { LIMITS } from '../../../src/core/kit/limits.js';
import { estimateCost, isHeavy } from '../../../src/core/tasks/task-costs.js';
import type { TaskOptions } from '../../../src/core/tasks/tasks.js';
import { Admission } from '../../../src/workers/threads/admission.js';

/** Tasks are judged by what they are estimated to take, before they wait. */

const LIKE: Expression = { op: 'like', args: [{ property: 'name' }, '%a%'] };
const EQUAL: Expression = { op: '=', args: [{ property: 'name' }, 'a'] };
const WINDOW: Expression = { op: 's_intersects', args: [{ property: 'geom' }, { bbox: [0, 0, 1, 1] }] };
const MILLION = { rows: 1_000_000 };
const heavy = (name: Parameters<typeof estimateCost>[0], input: object) => isHeavy(estimateCost(name, input));

describe('estimates', () => {
  it.each([
    ['a pattern over a large table', 'vector.items', { source: MILLION, filter: LIKE }, true],
    ['a pattern over a small table', 'vector.items', { source: { rows: 1000 }, filter: LIKE }, false],
    [
      'a pattern in a window',
      'vector.items',
      { source: MILLION, filter: { op: 'and', args: [WINDOW, LIKE] } },
      false,
    ],
    ['one value', 'vector.items', { source: MILLION, filter: EQUAL }, false],
    [
      'many alternatives',
      'vector.count',
      { source: { rows: 10_000 }, filter: { op: 'or', args: Array.from({ length: 400 }, () => LIKE) } },
      true,
    ],
    ['a page without a filter', 'vector.items', { source: MILLION, limit: 10 }, false],
    ['a page far behind', 'vector.items', { source: { rows: 5_000_000 }, offset: 2_000_000 }, true],
    ['statistics', 'vector.statistics', { source: MILLION, fields: ['a', 'b'] }, true],
    ['H3 cells', 'vector.h3', { source: MILLION, statistics: [] }, true],
    ['H3 cells of a small table', 'vector.h3', { source: { rows: 1000 }, statistics: [] }, false],
    ['a single feature', 'vector.item', { source: MILLION }, false],
    ['a tile', 'vector.tile', { extent: 4096, layers: [] }, false],
    ['the data of the largest metatile', 'vector.tile', { extent: 2048 * 16, layers: [] }, false],
    ['the data of a large map', 'vector.tile', { extent: 4096 * 16, layers: [] }, true],
    ['a part of a batch of addresses', 'vector.geocode', { queries: [{}], batch: 100 }, true],
    ['an address', 'vector.geocode', { queries: [{}], batch: 1 }, false],
    ['words in a large layer', 'vector.geocodeFeatures', { items: { source: MILLION, filter: LIKE } }, true],
    ['a large map', 'map.render', { width: 4096, height: 4096 }, true],
    ['a map of a screen', 'map.render', { width: 1920, height: 1080 }, false],
    ['a large coverage', 'raster.coverage', { size: [8192, 8192], maxSize: 8192 }, true],
    ['a coverage that is scaled up', 'raster.coverage', { pixels: 30_000_000, maxSize: 8192 }, true],
    ['a part of a coverage', 'raster.coverage', { pixels: 250_000, maxSize: 8192 }, false],
  ] as const)('%s', (_, name, input, expected) => {
    expect(heavy(name, input)).toBe(expected);
  });
});

describe('heavy requests', () => {
  const caller = (id = '192.0.2.1'): Caller => ({ class: 'anonymous', id });
  /** Tasks that run until they are ended. */
  function running(admission: Admission) {
    const ends: (() => void)[] = [];
    const run = (options: TaskOptions, input: object = { source: MILLION, filter: LIKE }) =>
      admission
        .run('vector.items', input, options, (given) => new Promise((end) => ends.push(() => end(given))))
        .catch((error) => error);
    return { run, ends };
  }

  it('are bounded for each address', async () => {
    const { run, ends } = running(new Admission(2));
    const first = run({ caller: caller() });
    void run({ caller: caller() });
    expect(await run({ caller: caller() })).toMatchObject({ code: 'too-many', retryAfterMs: 2000 });
    void run({ caller: caller('192.0.2.2') });
    void run({ caller: { class: 'keyed', id: 'k' } });
    void run({ caller: caller() }, { source: MILLION, filter: EQUAL });
    expect(ends).toHaveLength(5);
    ends[0]!();
    expect(await first).toMatchObject({ heavy: true });
    void run({ caller: caller() });
    expect(ends).toHaveLength(6);
  });

  it('count once, however many tasks they run, and are not refused once their response has begun', async () => {
    const { run, ends } = running(new Admission(1));
    const one = caller();
    void run({ caller: one });
    void run({ caller: one });
    void run({ caller: caller(), begun: true });
    expect(ends).toHaveLength(3);
    expect(await run({ caller: caller() })).toMatchObject({ code: 'too-many' });
  });

  it('are refused without a key where they would take too long', async () => {
    const { run, ends } = running(new Admission(10));
    const source = { rows: LIMITS.anonymousSteps };
    const refusal = await run({ caller: caller() }, { source, filter: LIKE });
    expect(refusal).toMatchObject({ code: 'too-large', message: expect.stringMatching(/Narrow it/) });
    void run({ caller: { class: 'keyed', id: 'k' } }, { source, filter: LIKE });
    void run({}, { source, filter: LIKE });
    expect(ends).toHaveLength(2);
  });
});
