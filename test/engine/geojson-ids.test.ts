import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import {
  areKept,
  type FeatureIds,
  featureIdsIn,
} from '../../src/workers/exchange/ogr/formats/geojson-ids.js';
import { translate } from '../../src/workers/exchange/ogr/translate.js';

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
    [collection(feature('-1'), feature('3')), { missing: 0, integers: 2, least: -1n }],
    [collection(feature('-9223372036854775809')), { missing: 0, integers: 0, problem: 'too-small' }],
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

describe('ids of a copy', () => {
  const row = (id: string, more = '') =>
    feature(id).replace('"properties":{"id":1,', `"properties":{${more}`);

  it.each([
    [
      'negative ones',
      [row('3000000000'), row('-5'), row('9007199254740993')],
      'keys',
      ['-5', '3000000000', '9007199254740993'],
    ],
    ['none beside negative ones', [row('-5'), row(''), row('1')], 'keys', ['-5', '1', '2']],
    ['a property `id`', [row('-5', '"id":"a",'), row('1', '"id":"b",')], 'keys', ['-5', '1']],
    ['repeated ones', [row('3000000000'), row('-5'), row('-5')], 'column', ['3000000000', '-5', '-5']],
    [
      'texts',
      [row('"9223372036854775808"'), row('18446744073709551617'), row('-5')],
      'column',
      ['9223372036854775808', '18446744073709551617', '-5'],
    ],
  ])('have all their digits beside %s', async (_, features, place, expected) => {
    writeFileSync(path, collection(...features));
    const output = join(folder, `${Math.random()}.gpkg`);
    const { keepsIds } = await translate({ path, output, table: 't' }, `${output}.part`, () => {});
    const db = new Database(output);
    const column = place === 'keys' ? 'fid' : 'id';
    const ids = db.prepare(`SELECT CAST(${column} AS TEXT) FROM t ORDER BY fid`).pluck().all();
    const columns = db.prepare("SELECT name FROM pragma_table_info('t')").pluck().all();
    db.close();
    expect([ids, keepsIds === true]).toEqual([expected, place === 'keys']);
    expect(columns.includes('id')).toBe(place === 'column' || features[0]!.includes('"id":"a"'));
  });
});
