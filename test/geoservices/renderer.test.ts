import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BothStores, startBothStores } from '../replicas/both-stores.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are compared member by member in tests
type Json = any;

const AREAS = [1, 1.5, 2, 2, 2.5, 7, 7.5, 8, 20, 21, 21, 22.5, 60, 61.5, 64];
/** Integers beyond 2^53 that are the same double but for the last two. */
const BASE = 2n ** 60n;
const SNOW = [1n, 3n, 5n, 24n, 26n].map((more) => BASE + more);
const INSERT = `INSERT INTO parcels (name, area, floors, active) VALUES
  ${AREAS.map((area, i) => `('${['Hall', 'tower'][i % 2]}', ${area}, ${i % 4 === 0 ? 'NULL' : i % 3}, ${i > 9})`).join(', ')},
  ('nothing', NULL, 9, NULL), ${SNOW.map((floors) => `('snow', NULL, ${floors}, NULL)`).join(', ')}`;

describe('renderers by values', () => {
  let both: BothStores;
  beforeAll(async () => {
    both = await startBothStores(INSERT);
  });
  afterAll(() => both?.stop());

  const ask = (classificationDef: Json, members: Json = {}): Promise<Json> =>
    both.ask('generateRenderer', { classificationDef, ...members });
  const breaks = (method: string, others = {}) => ({
    ...{ type: 'classBreaksDef', classificationField: 'AREA' },
    ...{ classificationMethod: `esriClassify${method}`, ...others },
  });
  const maxima = async (definition: Json, members?: Json): Promise<number[]> => {
    const answer = await ask(definition, members);
    if (answer.error) throw new Error(JSON.stringify(answer.error));
    return answer.classBreakInfos.map(({ classMaxValue }: Json) => classMaxValue);
  };
  const near = (numbers: readonly number[]) => numbers.map((number) => expect.closeTo(number, 9));

  it('have natural breaks, which leave the least squares', async () => {
    const squares = (values: readonly number[]) => {
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    };
    /** The best of all ways to cut, tried one by one. */
    const best = (values: readonly number[], count: number): { cost: number; ends: number[] } => {
      if (count === 1) return { cost: squares(values), ends: [values.at(-1)!] };
      let least = { cost: Number.POSITIVE_INFINITY, ends: [] as number[] };
      for (let size = 1; size <= values.length - count + 1; size++) {
        const rest = best(values.slice(size), count - 1);
        const cost = squares(values.slice(0, size)) + rest.cost;
        if (cost < least.cost) least = { cost, ends: [values[size - 1]!, ...rest.ends] };
      }
      return least;
    };
    for (const breakCount of [1, 2, 3, 4, 6])
      expect(await maxima(breaks('NaturalBreaks', { breakCount }))).toEqual(best(AREAS, breakCount).ends);
  });

  it('have quantiles, as SQL defines them', async () => {
    const [row] = await both.database.query(`SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75, 1])
      WITHIN GROUP (ORDER BY area) AS ends FROM parcels`);
    expect(await maxima(breaks('Quantile', { breakCount: 4 }))).toEqual(near(row!['ends'] as number[]));
  });

  it('have intervals that are equal, grow, or are given', async () => {
    expect(await maxima(breaks('EqualInterval', { breakCount: 3 }))).toEqual(near([22, 43, 64]));
    expect(await maxima(breaks('GeometricalInterval', { breakCount: 3 }))).toEqual(near([4, 16, 64]));
    expect(await maxima(breaks('DefinedInterval', { definedInterval: 30 }))).toEqual([30, 60, 64]);
    expect(await maxima(breaks('DefinedInterval', { definedInterval: 100 }))).toEqual([64]);
  });

  it('have standard deviations about the mean', async () => {
    const [row] = await both.database.query(
      'SELECT avg(area) AS mean, stddev_samp(area) AS deviation FROM parcels',
    );
    const { mean, deviation } = row as Record<'mean' | 'deviation', number>;
    const steps = [-0.5, 0, 0.5, 1, 1.5].map((step) => mean + step * deviation);
    const ends = [...steps.filter((limit) => limit < 64), 64];
    expect(await maxima(breaks('StandardDeviation', { standardDeviationInterval: 0.5 }))).toEqual(near(ends));
  });

  it('keep all digits of large integers', async () => {
    const digits = async (method: string, others: object) => {
      const definition = { ...breaks(method, others), classificationField: 'floors' };
      const texts = both.towns.map(async ({ server, layers }) => {
        const search = new URLSearchParams({
          ...{ classificationDef: JSON.stringify(definition), where: "name = 'snow'", f: 'json' },
        });
        const path = `/rest/services/default/FeatureServer/${layers['parcels']}/generateRenderer?${search}`;
        const headers = { 'x-api-key': server.adminKey };
        return (await fetch(`${server.url}${path}`, { headers })).text();
      });
      const [first, second] = await Promise.all(texts);
      expect(second).toBe(first);
      expect(first).toContain(`"minValue":${SNOW[0]},`);
      expect(first).toContain(`"label":"${SNOW[0]} - `);
      return [...first!.matchAll(/"classMaxValue":(\d+)/g)].map(([, end]) => BigInt(end!) - BASE);
    };
    expect(await digits('NaturalBreaks', { breakCount: 2 })).toEqual([5n, 26n]);
    expect(await digits('EqualInterval', { breakCount: 5 })).toEqual([6n, 11n, 16n, 21n, 26n]);
    // Multiples of ten: BASE ends with 6976.
    expect(await digits('DefinedInterval', { definedInterval: 10 })).toEqual([4n, 14n, 24n, 26n]);
    // Limits that doubles cannot tell apart make one class.
    expect(await digits('Quantile', { breakCount: 4 })).toEqual([26n]);

    const values = await ask(
      { type: 'uniqueValueDef', uniqueValueFields: ['floors'] },
      { where: "name = 'snow'" },
    );
    expect(values.uniqueValueInfos.map(({ value }: Json) => value)).toEqual(SNOW.map(String));
  });

  it('are of the features that pass, and nothing where none does', async () => {
    const where = 'area < 21';
    expect(await maxima(breaks('EqualInterval', { breakCount: 2 }), { where })).toEqual(near([10.5, 20]));
    expect(await ask(breaks('Quantile'), { where: 'fid < 0' })).toMatchObject({
      minValue: null,
      classBreakInfos: [],
    });
    const single = await ask(breaks('NaturalBreaks'), { where: 'area = 7' });
    expect(single).toMatchObject({ minValue: 7, classBreakInfos: [{ classMaxValue: 7, label: '7 - 7' }] });
  });

  it('have the symbol and the colours that are asked for', async () => {
    const baseSymbol = { type: 'esriSFS', style: 'esriSFSSolid', outline: { type: 'esriSLS', width: 2 } };
    const ramp = (algorithm: string) => ({
      ...{ type: 'algorithmic', algorithm },
      ...{ fromColor: [255, 0, 0, 255], toColor: [0, 255, 0, 55] },
    });
    const colors = async (colorRamp: Json) => {
      const answer = await ask(breaks('EqualInterval', { breakCount: 3, baseSymbol, colorRamp }));
      return answer.classBreakInfos.map(({ symbol: { color, ...others } }: Json) => {
        expect(others).toEqual(baseSymbol);
        return color;
      });
    };
    const [from, to] = [
      [255, 0, 0, 255],
      [0, 255, 0, 55],
    ];
    expect(await colors(ramp('esriHSVAlgorithm'))).toEqual([from, [255, 255, 0, 155], to]);
    // As chroma.js mixes them in these spaces.
    expect(await colors(ramp('esriCIELabAlgorithm'))).toEqual([from, [201, 171, 0, 155], to]);
    expect(await colors(ramp('esriLabLChAlgorithm'))).toEqual([from, [215, 167, 0, 155], to]);
    const parts = { type: 'multipart', colorRamps: [ramp('esriHSVAlgorithm'), ramp('esriHSVAlgorithm')] };
    expect(await colors(parts)).toEqual([from, from, to]);
    const plain = await ask(breaks('EqualInterval', { breakCount: 2 }));
    expect(plain).toMatchObject({
      ...{ type: 'classBreaks', field: 'area', minValue: 1 },
      classificationMethod: 'esriClassifyEqualInterval',
      classBreakInfos: [{ label: '1 - 32.5', symbol: { type: 'esriSFS' } }, { label: '32.5 - 64' }],
    });
  });

  it('have each value, with how often it occurs', async () => {
    const definition = { type: 'uniqueValueDef', uniqueValueFields: ['Name', 'active'], fieldDelimiter: '|' };
    const answer = await ask(definition);
    expect(answer).toMatchObject({
      type: 'uniqueValue',
      field1: 'name',
      field2: 'active',
      fieldDelimiter: '|',
    });
    const rows = answer.uniqueValueInfos.map(({ value, label, count }: Json) => [value, label, count]);
    expect(rows).toEqual([
      ['Hall|0', 'Hall|0', 5],
      ['Hall|1', 'Hall|1', 3],
      ['nothing|<Null>', 'nothing|<Null>', 1],
      ['snow|<Null>', 'snow|<Null>', SNOW.length],
      ['tower|0', 'tower|0', 5],
      ['tower|1', 'tower|1', 2],
    ]);
    const colors = new Set(answer.uniqueValueInfos.map(({ symbol }: Json) => String(symbol.color)));
    expect(colors.size).toBe(6);
  });

  it('are those of a map, too', async () => {
    for (const town of both.towns) {
      const path = `${town.server.url}/rest/services/default/MapServer/${town.layers['parcels']}/generateRenderer`;
      const search = new URLSearchParams({
        classificationDef: JSON.stringify(breaks('NaturalBreaks')),
        f: 'json',
      });
      const response = await fetch(`${path}?${search}`, { headers: { 'x-api-key': town.server.adminKey } });
      expect(await response.json()).toEqual(await ask(breaks('NaturalBreaks')));
    }
  });

  it.each([
    ['nothing', ''],
    ['no type', {}],
    ['no field', breaks('Quantile', { classificationField: 'fid; DROP TABLE parcels' })],
    ['a field of text', breaks('Quantile', { classificationField: 'name' })],
    ['an unknown method', breaks('Manual')],
    ['too many classes', breaks('Quantile', { breakCount: 101 })],
    ['half a class', breaks('Quantile', { breakCount: 1.5 })],
    ['a normalization', breaks('Quantile', { normalizationType: 'esriNormalizeByLog' })],
    ['no interval', breaks('DefinedInterval')],
    ['an interval below 0', breaks('DefinedInterval', { definedInterval: -1 })],
    ['odd deviations', breaks('StandardDeviation', { standardDeviationInterval: 0.4 })],
    ['a symbol of a picture', breaks('Quantile', { baseSymbol: { type: 'esriPMS' } })],
    ['a ramp without colours', breaks('Quantile', { colorRamp: { type: 'algorithmic' } })],
    ['a ramp of another sort', breaks('Quantile', { colorRamp: { type: 'random' } })],
    ['no fields', { type: 'uniqueValueDef', uniqueValueFields: [] }],
    ['a field twice', { type: 'uniqueValueDef', uniqueValueFields: ['name', 'NAME'] }],
  ])('refuse %s', async (_what, definition) => {
    const { error } = await ask(definition);
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(/^classificationDef: /) });
  });

  it('refuse what has no end', async () => {
    const tiny = await ask(breaks('DefinedInterval', { definedInterval: 1e-9 }));
    expect(tiny.error).toMatchObject({
      code: 400,
      message: expect.stringContaining('more than 100 classes'),
    });
  });
});
