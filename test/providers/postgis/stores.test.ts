import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SceneTileTask } from '../../../src/core/scenes/scene-tiles.js';
import type { GeoPackageSource, PostgisSource } from '../../../src/core/sources/vector-source.js';
import type { VectorTileTask } from '../../../src/core/tasks/vector-tasks.js';
import { tileBox, WEB_MERCATOR_QUAD } from '../../../src/core/tiles/tile-matrix.js';
import { inspectGeoPackage } from '../../../src/workers/providers/geopackage/schema/inspect.js';
import { closeAll } from '../../../src/workers/providers/postgis/connections/database.js';
import { getFeatureStore } from '../../../src/workers/providers/store.js';
import { decode, WORLD_MAP } from '../../native/support.js';
import { readSceneFeatures, sumVolume } from '../../support/glb.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';
import { CRS84, featuresOf, layerOf } from './support.js';

/** The same data in both stores: made from one GeoPackage, ids kept. */
const TABLES = ['countries', 'states_provinces', 'disputed_borders'];

let postgres: TestPostgres;
const pairs: Record<string, [GeoPackageSource, PostgisSource]> = {};
const folder = mkdtempSync(join(tmpdir(), 'graticule-stores-'));

beforeAll(async () => {
  postgres = await startPostgres();
  const options = [
    '-lco',
    'GEOMETRY_NAME=geom',
    '-lco',
    'FID=fid',
    '-lco',
    'LAUNDER=NO',
    '-preserve_fid',
    '-a_srs',
    'EPSG:4326',
  ];
  const loaded = spawnSync(
    'ogr2ogr',
    ['-f', 'PostgreSQL', `PG:${postgres.url}`, WORLD_MAP, ...TABLES, ...options],
    { encoding: 'utf8' },
  );
  if (loaded.status !== 0) throw new Error(`ogr2ogr failed: ${loaded.stderr ?? loaded.error}`);
  const layers = inspectGeoPackage(WORLD_MAP);
  for (const table of TABLES) {
    const file = layers.find(({ source }) => source.table === table)!.source as GeoPackageSource;
    pairs[table] = [file, (await layerOf(postgres.url, table)).source as PostgisSource];
  }
}, 120_000);
afterAll(async () => {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
  await postgres?.stop();
});

const both = <T>(table: string, ask: (source: GeoPackageSource | PostgisSource) => Promise<T>) =>
  Promise.all(pairs[table]!.map(ask)) as Promise<[T, T]>;

describe.each(TABLES)('%s, in both stores', (table) => {
  it.each([
    ['geojson', undefined],
    ['csv', undefined],
    ['gml', { type: 'place', srsName: 'http://www.opengis.net/def/crs/OGC/1.3/CRS84' }],
  ] as const)('has the same features as %s', async (format, gml) => {
    const [file, database] = await both(table, async (source) => {
      const found = await getFeatureStore(source).items({
        filter: undefined,
        ...CRS84,
        format,
        gml,
        source,
        limit: 2000,
        offset: 0,
      });
      return Buffer.from(found.features);
    });
    expect(file.length).toBeGreaterThan(1000);
    expect(database.equals(file)).toBe(true);
  });

  it('has the same features in windows', async () => {
    for (const bbox of [
      [5, 45, 15, 55],
      [-10, -10, 10, 10],
      [170, -50, -170, 70],
      [100, 10, 100.001, 10.001],
    ]) {
      const [file, database] = await both(table, async (source) => {
        const filter = { op: 's_intersects', args: [{ property: source.geometryColumn }, { bbox }] };
        const found = await getFeatureStore(source).items({
          ...CRS84,
          source,
          filter,
          limit: 2000,
          offset: 0,
        });
        return featuresOf(found.features).map(({ id }) => id);
      });
      expect(database).toEqual(file);
    }
  });

  it.each([
    [0, 0, 0],
    [2, 1, 2],
    [4, 5, 8],
    [6, 22, 33],
  ])('has the same tile %i/%i/%i', async (z, row, column) => {
    const [file, database] = await both(table, async (source) => {
      const task: VectorTileTask = {
        layers: [],
        crs: 'EPSG:3857',
        bbox: tileBox(WEB_MERCATOR_QUAD, z, row, column),
        extent: 4096,
        buffer: 64,
        simplify: 0.5,
        encoding: 'identity',
      };
      const { tile } = await getFeatureStore(source).tileLayer(task, {
        filter: undefined,
        name: 'layer',
        source,
      });
      return JSON.stringify(byId(tile));
    });
    expect(database === file).toBe(true);
  });
});

describe('a scene tile of states, in both stores', () => {
  const WINDOW = [0, 40, 20, 56] as const;
  const encode = (task: Partial<SceneTileTask>) =>
    both('states_provinces', async (source) => {
      const file = await getFeatureStore(source).encodeScene!({
        source,
        filter: undefined,
        fields: ['name', 'admin'],
        window: [...WINDOW],
        shape: 'extrusion',
        height: { otherwise: 1000 },
        encoding: 'identity',
        ...task,
      });
      const features = readSceneFeatures(file);
      return features.toSorted((a, b) => Number(a.properties['id']) - Number(b.properties['id']));
    });

  it('has the same features', async () => {
    const [file, database] = await encode({});
    expect(file.length).toBeGreaterThan(300);
    expect(file.every(({ triangles }) => sumVolume(triangles) > 0)).toBe(true);
    expect(database).toEqual(file);
  });

  it('has the same features with a filter', async () => {
    const filter = { op: '=', args: [{ property: 'admin' }, 'Switzerland'] };
    const [file, database] = await encode({ filter });
    expect(file).toHaveLength(26);
    expect(new Set(file.map(({ properties }) => properties['admin']))).toEqual(new Set(['Switzerland']));
    expect(database).toEqual(file);
  });

  it('has no byte of a masked field, neither as attribute nor as height', async () => {
    const masked = pairs['states_provinces']!.map((source) => ({
      ...source,
      fields: source.fields.map((field) =>
        field.name === 'admin' || field.name === 'diss_me'
          ? { ...field, mask: { treatment: 'null' as const } }
          : field,
      ),
    }));
    for (const source of masked) {
      const file = await getFeatureStore(source).encodeScene!({
        source,
        filter: undefined,
        fields: ['name', 'admin'],
        window: [...WINDOW],
        shape: 'extrusion',
        height: { field: 'admin', otherwise: 5 },
        encoding: 'identity',
      });
      expect(Buffer.from(file).includes('Switzerland')).toBe(false);
      const heights = readSceneFeatures(file).map(({ properties }) => Object.keys(properties).toSorted());
      expect(new Set(heights.map(String))).toEqual(new Set(['id,name']));
    }
  });
});

/** The features of a tile, in an order that does not hang on how rows are found. */
function byId(tile: Uint8Array) {
  const layer = decode(tile).layer;
  const features = Array.from({ length: layer?.length ?? 0 }, (_, i) => layer!.feature(i));
  return features
    .map((feature) => ({ id: feature.id, properties: feature.properties, geometry: feature.loadGeometry() }))
    .sort((a, b) => a.id! - b.id!);
}
