import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { compareFeatures } from '../../../src/workers/exchange/ingest/compare-features.js';
import { geometryDifference } from '../../../src/workers/exchange/ingest/compare-geometries.js';

/** What counts as the same feature, and what does not. */

const square = [
  [0, 0],
  [10, 0],
  [10, 10],
  [0, 10],
];
const ring = (from: number, step: 1 | -1) => {
  const positions = square.map((_position, i) => square[(from + step * i + 8) % 4]!);
  return [...positions, positions[0]!];
};
const polygon = (...rings: number[][][]) => ({ type: 'Polygon', coordinates: rings });

describe('geometries', () => {
  it('are the same, wherever their rings begin, whichever way they go, and alone or as one of many', () => {
    for (const from of [0, 1, 2, 3])
      for (const step of [1, -1] as const) {
        expect(geometryDifference(polygon(ring(0, 1)), polygon(ring(from, step)), 0.1)).toBeUndefined();
        const many = { type: 'MultiPolygon', coordinates: [[ring(from, step)]] };
        expect(geometryDifference(polygon(ring(0, 1)), many, 0.1)).toBeUndefined();
      }
    expect(geometryDifference(null, null, 0.1)).toBeUndefined();
  });

  it('are the same within a tolerance, and not beyond', () => {
    const point = (x: number) => ({ type: 'Point', coordinates: [x, 5] });
    expect(geometryDifference(point(1), point(1.09), 0.1)).toBeUndefined();
    expect(geometryDifference(point(1), point(1.11), 0.1)).toMatch(/away/);
  });

  it('differ by their type, parts, positions, order and place', () => {
    const line = (...coordinates: number[][]) => ({ type: 'LineString', coordinates });
    const [a, b, c] = square as [number[], number[], number[]];
    const hole = ring(0, 1).map(([x, y]) => [x! / 2, y! / 2]);
    expect(geometryDifference(line(a, b), polygon(ring(0, 1)), 0.1)).toMatch(/LineString has become Polygon/);
    expect(geometryDifference(polygon(ring(0, 1), hole), polygon(ring(0, 1)), 0.1)).toMatch(/2 parts/);
    expect(geometryDifference(line(a, b, c), line(a, b), 0.1)).toMatch(/3 positions/);
    expect(geometryDifference(line(a, b, c), line(c, b, a), 0.1)).toMatch(/away/);
    expect(geometryDifference(polygon(hole), polygon(ring(0, 1)), 0.1)).toMatch(/away/);
    expect(geometryDifference(line(a, b), null, 0.1)).toMatch(/no geometry/);
    expect(geometryDifference({ type: 'Polygon', coordinates: 7 }, polygon(ring(0, 1)), 0.1)).toBe(
      'It is not a geometry.',
    );
  });
});

describe('features', () => {
  const folder = mkdtempSync(join(tmpdir(), 'compare-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  async function differences(source: object, target: object): Promise<string[]> {
    const path = join(folder, 'source');
    const feature = (properties: object) => ({ type: 'Feature', geometry: null, properties });
    writeFileSync(path, `${JSON.stringify({ ...feature(source), id: 'a.1' })}\n`);
    const text = JSON.stringify(feature({ id: 'a.1', ...target }));
    const task = { path, target: Buffer.from(text), key: 'id', tolerance: 0.1 };
    const comparison = await compareFeatures(task);
    expect(comparison).toMatchObject({ compared: 1, missing: [] });
    return comparison.differences.map(({ member }) => member);
  }

  it('have the same attributes, written in another way', async () => {
    const source = {
      day: '2026-01-02Z',
      at: '2026-01-02T03:04:05Z',
      yes: true,
      number: 0.1 + 0.2,
      list: [1, 2],
      none: null,
    };
    const target = { day: '2026-01-02', at: '2026-01-02T03:04:05.000Z', yes: 1, number: 0.3, list: '[1, 2]' };
    expect(await differences(source, target)).toEqual([]);
  });

  it('differ by attributes that changed or are missing', async () => {
    const source = {
      day: '2026-01-02',
      at: '2026-01-02T03:04:05Z',
      yes: true,
      number: 1,
      text: 'a',
      gone: 0,
    };
    const target = { day: '2026-01-03', at: '2026-01-02T03:04:06Z', yes: 0, number: 1.001, text: 'A' };
    expect(await differences(source, target)).toEqual(['day', 'at', 'yes', 'number', 'text', 'gone']);
  });
});
