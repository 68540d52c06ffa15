import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { Json, Stage } from './stage.js';

/** What the library asks services to compute, and what it changes. */
export function services(stage: Stage): void {
  const stations = async () => (await stage.itemsOf('stations')).map(({ properties }) => properties as Json);
  const query = (method: string, parameters: Json): Promise<Json> =>
    stage.sdk.call('query', { url: stage.featureLayer('stations') }, method, parameters);

  describe('queries', () => {
    it('statistics of groups', async () => {
      const features = await stations();
      const statistic = (statisticType: string, onStatisticField = 'size') => ({
        ...{ statisticType, onStatisticField, outStatisticFieldName: `${statisticType}_of` },
      });
      const rows = await query('queryFeatures', {
        outStatistics: [statistic('sum'), statistic('max'), statistic('count', '*')],
        groupByFieldsForStatistics: ['letter'],
        where: "letter < 'D'",
        orderByFields: ['letter DESC'],
      });
      const expected = ['C', 'B', 'A'].map((letter) => {
        const sizes = sizesOf(features, letter);
        const sum_of = sizes.reduce((sum, size) => sum + size, 0);
        return { letter, sum_of, max_of: Math.max(...sizes), count_of: sizes.length };
      });
      expect(rows).toEqual(expected);
    });

    it('the first features of groups', async () => {
      const topFilter = { topCount: 2, groupByFields: ['letter'], orderByFields: ['size DESC'] };
      const rows = await query('queryTopFeatures', { topFilter, outFields: ['letter', 'size'] });
      const features = await stations();
      const letters = new Set(features.map(({ letter }) => letter));
      for (const letter of letters) {
        const sizes = sizesOf(features, letter).slice(0, 2);
        expect([letter, sizesOf(rows, letter)]).toEqual([letter, sizes]);
      }
      expect(rows.length).toBeLessThanOrEqual(2 * letters.size);
      expect(await query('queryTopFeatureCount', { topFilter })).toBe(rows.length);
    });

    it('bins along a field', async () => {
      const binParameters = {
        type: 'fixed-interval',
        field: 'size',
        interval: 50_000,
        start: 0,
        end: 200_000,
      };
      const rows = await query('queryAttributeBins', { binParameters });
      const sizes = (await stations()).map(({ size }) => size);
      const countOf = (low: number, high: number) =>
        sizes.filter((size) => size >= low && (size < high || (size === high && high === 200_000))).length;
      expect(rows.map(({ frequency }: Json) => frequency)).toEqual(
        [0, 50_000, 100_000, 150_000].map((low) => countOf(low, low + 50_000)),
      );
    });
  });

  describe('asks', () => {
    it('a locator for addresses and places', async () => {
      const url = `${stage.services}/countries/GeocodeServer`;
      const place = [10, 50];
      const read = await stage.sdk.call('locate', url, 'Switzerland', 'norw', place);
      expect(read).toMatchObject({
        address: 'Switzerland',
        score: 100,
        suggestion: 'Norway',
        candidateOfKey: 'Norway',
      });
      const [country, countryOfPlace] = await Promise.all([read.location, place].map(countryAt));
      expect([country, countryOfPlace]).toEqual(['Switzerland', read.place]);
    });

    it('a geometry service to project and to buffer', async () => {
      const url = `${stage.services}/Utilities/Geometry/GeometryServer`;
      const { point, width, height } = await stage.sdk.call('compute', url, [10, 50], 25_832, 1000);
      const options = { input: '10 50' };
      const text = execFileSync('gdaltransform', ['-s_srs', 'OGC:CRS84', '-t_srs', 'EPSG:25832'], options);
      const [x, y] = text.toString().split(' ').map(Number);
      expect(point).toEqual([expect.closeTo(x!, 3), expect.closeTo(y!, 3)]);
      expect([width, height]).toEqual([expect.closeTo(2000, 3), expect.closeTo(2000, 3)]);
    });

    it('a geoprocessing service for a job, with a token', async () => {
      const url = `${stage.services}/Processes/GPServer/geometry.buffer`;
      const features = {
        ...{ geometryType: 'esriGeometryPoint', spatialReference: { wkid: 4326 } },
        features: [{ geometry: { x: 10, y: 0 }, attributes: { name: 'a' } }],
      };
      const inputs = { features, distance: 1000, unit: 'metre' };
      const result = await stage.sdk.call('runTask', url, inputs, stage.server.adminKey);
      expect(result).toMatchObject({
        jobStatus: 'job-succeeded',
        features: [{ type: 'polygon', attributes: { name: 'a' } }],
      });
      const { xmin, xmax } = result.features[0].extent;
      const degrees = 360 / (2 * Math.PI * 6_378_137);
      expect([xmin, xmax]).toEqual([-1, 1].map((side) => expect.closeTo(10 + side * 1000 * degrees, 4)));
    });
  });

  it('adds, changes and deletes features', async () => {
    const layer = { url: stage.featureLayer('stations'), apiKey: stage.server.adminKey };
    const edit = async (edits: Json): Promise<number> => {
      const [result] = await stage.sdk.call('applyEdits', layer, edits);
      expect(result.error).toBeNull();
      return result.objectId;
    };
    const geometry = { x: 1_113_194.908, y: 6_446_275.841, spatialReference: { wkid: 102_100 } };
    const fid = await edit({
      addFeatures: [{ geometry, attributes: { name: 'new', letter: 'n', size: 3 } }],
    });
    const item = async () => (await stage.itemsOf('stations', `&ids=${fid}`))[0] as Json;
    expect(await item()).toMatchObject({
      properties: { name: 'new', letter: 'n', size: 3 },
      geometry: { coordinates: [expect.closeTo(10, 6), expect.closeTo(50, 6)] },
    });
    expect(await edit({ updateFeatures: [{ attributes: { fid, name: 'newer' } }] })).toBe(fid);
    expect((await item()).properties).toMatchObject({ name: 'newer', size: 3 });
    expect(await edit({ deleteFeatures: [{ objectId: fid }] })).toBe(fid);
    expect(await item()).toBeUndefined();
    const [failure] = await stage.sdk.call('applyEdits', layer, { deleteFeatures: [{ objectId: fid }] });
    expect(failure.error).toEqual(expect.any(String));
  });

  /** Sizes of one group, the greatest first. */
  function sizesOf(features: Json[], group: string): number[] {
    const sizes = features.flatMap(({ letter, size }) => (letter === group ? [size as number] : []));
    return sizes.sort((a, b) => b - a);
  }

  async function countryAt([x, y]: number[]): Promise<string> {
    const filter = encodeURIComponent(`S_INTERSECTS(geom, POINT(${x} ${y}))`);
    const [country] = await stage.itemsOf('countries', `&filter=${filter}`);
    return country!.properties!['NAME'];
  }
}
