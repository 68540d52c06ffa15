import { describe, expect, it } from 'vitest';
import { checkedLayers } from '../../../src/core/styles/sld/import/layer-check.js';
import { SldReport } from '../../../src/core/styles/sld/report.js';
import { computeBreaks } from '../../../src/core/styles/suggest/breaks.js';
import { paletteColors } from '../../../src/core/styles/suggest/palettes.js';
import type { FieldSample } from '../../../src/core/styles/suggest/profile.js';
import { suggestStyle } from '../../../src/core/styles/suggest/suggest.js';

const sample = (name: string, type: 'integer' | 'number' | 'string', values: unknown[]): FieldSample => ({
  field: { name, type },
  values,
});

/** Sum of squares about the means of the classes that limits make. */
function squares(values: readonly number[], breaks: readonly number[]): number {
  const limits = [Number.NEGATIVE_INFINITY, ...breaks, Number.POSITIVE_INFINITY];
  let sum = 0;
  for (let i = 1; i < limits.length; i++) {
    const of = values.filter((value) => value >= limits[i - 1]! && value < limits[i]!);
    const mean = of.reduce((a, b) => a + b, 0) / of.length;
    for (const value of of) sum += (value - mean) ** 2;
  }
  return sum;
}

/** The best of all ways to cut values into classes. */
function bestSquares(values: readonly number[], count: number): number {
  const cuts = (from: number, left: number): number[][] => {
    if (left === 0) return [[]];
    const found: number[][] = [];
    for (let i = from; i < values.length; i++) {
      for (const rest of cuts(i + 1, left - 1)) found.push([values[i]!, ...rest]);
    }
    return found;
  };
  return Math.min(...cuts(1, count - 1).map((breaks) => squares(values, breaks)));
}

describe('classes of numbers', () => {
  it('have equal widths, equal numbers of values, or the least squares', () => {
    const values = Array.from({ length: 100 }, (_, i) => i);
    expect(computeBreaks('EqualInterval', values, 4)).toEqual([24.75, 49.5, 74.25]);
    expect(computeBreaks('Quantile', values, 4)).toEqual([25, 50, 75]);
    expect(computeBreaks('NaturalBreaks', [1, 2, 3, 50, 51, 52, 900, 901], 3)).toEqual([50, 900]);
  });

  it('are the best there are, for natural breaks', () => {
    let state = 7;
    const next = () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) / 0x7fffffff;
    for (let round = 0; round < 20; round++) {
      const values = [...new Set(Array.from({ length: 14 }, () => Math.round(next() ** 3 * 1000)))].sort(
        (a, b) => a - b,
      );
      for (const count of [2, 3, 4]) {
        const breaks = computeBreaks('NaturalBreaks', values, count);
        expect(breaks).toHaveLength(count - 1);
        expect(squares(values, breaks)).toBeCloseTo(bestSquares(values, count), 3);
      }
    }
  });

  it('are fewer where there are fewer values, and hold for extreme ones', () => {
    for (const method of ['EqualInterval', 'Quantile', 'NaturalBreaks'] as const) {
      expect(computeBreaks(method, [5, 5, 5], 5)).toEqual([]);
      const extreme = computeBreaks(method, [-1.7e308, 0, 1.7e308], 3);
      expect(extreme.every(Number.isFinite)).toBe(true);
      expect(computeBreaks(method, [1, 1, 1, 2], 4).length).toBeLessThan(4);
    }
  });
});

it('takes colours from the low to the high end', () => {
  expect(paletteColors('Viridis', 3)).toEqual(['#440154', '#21918c', '#fde725']);
  expect(paletteColors('RdBu', 2)).toEqual(['#053061', '#67001f']);
  expect(new Set(paletteColors('CartoBold', 12)).size).toBe(12);
});

describe('a suggested style', () => {
  const rows = 300;
  const ids = sample(
    'OBJECTID',
    'integer',
    Array.from({ length: rows }, (_, i) => i),
  );
  const population = sample(
    'population',
    'integer',
    Array.from({ length: rows }, (_, i) => (i % 10 === 0 ? null : i ** 2)),
  );
  const kind = sample(
    'kind',
    'string',
    Array.from({ length: rows }, (_, i) => ['a', 'b', 'c'][i % 3]),
  );
  const plain = { classCount: 5 };

  it('chooses a quantity before keys, and tells why', () => {
    const suggestion = suggestStyle([ids, population], 'Polygon', plain);
    expect(suggestion.field).toMatchObject({ name: 'population', type: 'integer' });
    expect(suggestion.field.reason).toContain('different numbers');
    expect(suggestion.palette).toBe('Viridis');
    expect(suggestion.legend.entries).toHaveLength(5);
    expect(suggestion.observations.join(' ')).toContain('30 of 300 rows have no population');
    const { renderer } = suggestion.drawingInfo as { renderer: { type: string; classBreakInfos: unknown[] } };
    expect(renderer.type).toBe('classBreaks');
    expect(renderer.classBreakInfos).toHaveLength(5);
  });

  it('gives values their colours where they are few', () => {
    const { field, method, legend, drawingInfo } = suggestStyle([ids, kind], 'Point', plain);
    expect([field.name, method]).toEqual(['kind', 'UniqueValue']);
    expect(legend.entries.map(({ label }) => label)).toEqual(['a', 'b', 'c']);
    expect(drawingInfo.renderer).toMatchObject({ type: 'uniqueValue', field1: 'kind' });
  });

  it('does what was asked for', () => {
    const options = {
      preferredField: 'OBJECTID',
      preferredMethod: 'EqualInterval',
      preferredPalette: 'RdBu',
      classCount: 3,
    } as const;
    const { field, method, legend } = suggestStyle([ids, population], 'LineString', options);
    expect([field.name, method, legend.entries.map(({ color }) => color)]).toEqual([
      'OBJECTID',
      'EqualInterval',
      ['#053061', '#f7f7f7', '#67001f'],
    ]);
    const text = suggestStyle([kind], 'LineString', { ...options, preferredField: 'kind' });
    expect(text.method).toBe('UniqueValue');
    expect(text.observations.join(' ')).toContain('no numbers');
  });

  it('is one colour where nothing tells features apart', () => {
    for (const samples of [[], [sample('a', 'string', ['x', 'x'])], [sample('a', 'integer', [null])]]) {
      const { field, legend, layers } = suggestStyle(samples, 'Polygon', plain);
      expect([field.name, legend.entries, layers.length]).toEqual(['', [], 2]);
    }
  });

  it.each(['Point', 'MultiLineString', 'Polygon', 'Geometry'] as const)('is valid for %s', (type) => {
    for (const samples of [[population], [kind]]) {
      const report = new SldReport();
      const { layers } = suggestStyle(samples, type, plain);
      expect(checkedLayers(layers, report)).toEqual(layers);
      expect(report.diagnostics).toEqual([]);
    }
  });
});
