import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { areKept, type FeatureIds, featureIdsIn } from '../../src/workers/raster/geojson-ids.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-ids-'));
const path = join(folder, 'a.geojson');
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function idsIn(text: string): Promise<FeatureIds> {
  writeFileSync(path, text);
  return featureIdsIn(path);
}

const feature = (id: string, more = '') =>
  `{"type":"Feature",${id && `"id":${id},`}"geometry":null${more},"properties":{"id":1,"a":[{"type":"Feature","id":5}],"s":"\\"}{[,:\\\\"}}`;
const collection = (...features: string[]) =>
  `{"features":[${features.join(',')}],"type":"FeatureCollection","id":3}`;

describe('ids of GeoJSON', () => {
  it.each([
    [collection(feature('7'), feature('2')), { missing: 0, integers: 2, least: 2n }],
    [collection(feature(''), feature('null'), feature('4')), { missing: 2, integers: 1, least: 4n }],
    [collection(feature('7'), feature('7')), { missing: 0, integers: 2, least: 7n, problem: 'repeated' }],
    [collection(feature('9223372036854775808')), { missing: 0, integers: 0, problem: 'too-large' }],
    [collection(feature('"7"'), feature('1')), { missing: 0, integers: 1, least: 1n, problem: 'other' }],
    [collection(feature('-1')), { missing: 0, integers: 0, problem: 'other' }],
    [feature('12'), { missing: 0, integers: 1, least: 12n }],
    [`${feature('1')}\n\u001e${feature('2')}\n`, { missing: 0, integers: 2, least: 1n }],
    [collection(), { missing: 0, integers: 0 }],
    ['{"type":"Point","coordinates":[[[1,2]]],"id":4}', { missing: 0, integers: 0 }],
  ])('are read of %s', async (text, ids) => {
    expect(await idsIn(text)).toEqual(ids);
    const spaced = text.replace(/([{}[\],:])/g, (sign, _, at) =>
      text[at - 1] === '\\' ? sign : ` ${sign}\n`,
    );
    if (!text.includes('\\')) expect(await idsIn(spaced)).toEqual(ids);
  });

  it('are read across the parts of a long file', async () => {
    const count = 30_000;
    const features = Array.from({ length: count }, (_, i) =>
      feature(String(9_007_199_254_740_993n + BigInt(i))),
    );
    const ids = await idsIn(collection(...features));
    expect(ids).toEqual({ missing: 0, integers: count, least: 9_007_199_254_740_993n });
  });

  it('are kept where the numbers that others get are free', () => {
    expect(areKept({ missing: 0, integers: 2, least: 0n })).toBe(true);
    expect(areKept({ missing: 2, integers: 1, least: 2n })).toBe(true);
    expect(areKept({ missing: 2, integers: 1, least: 1n })).toBe(false);
    expect(areKept({ missing: 3, integers: 0 })).toBe(false);
    expect(areKept({ missing: 0, integers: 2, least: 1n, problem: 'repeated' })).toBe(false);
  });
});
