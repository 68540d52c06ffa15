import type { Collection, RasterCollection, VectorCollection } from '../../src/core/catalog/collection.js';
import { CRS84 } from '../../src/core/geometry/crs.js';
import type { GeometryType } from '../../src/core/sources/vector-source.js';

/** Text that breaks a page which forgets to escape: markup, quotes, ends of elements, right-to-left text and overrides. */
export const HOSTILE = `</title></script><script>alert(1)</script><img src=x onerror=alert(2)>"'&\u202e שלום مرحبا`;

export const BASE = 'https://maps.example/prefix';

export function vectorCollection(
  over: Partial<VectorCollection> = {},
  geometryType: GeometryType = 'MultiPolygon',
): VectorCollection {
  return {
    kind: 'vector',
    id: 'roads',
    layerId: 7,
    title: 'Roads',
    description: 'All roads',
    extent84: [5, 45, 11, 48],
    storageCrs: CRS84,
    crs: [CRS84],
    file: 'roads.gpkg',
    version: '1',
    origin: 'o',
    featureCount: 12345,
    cursor: 0,
    style: { version: 0, layers: [] },
    source: {
      kind: 'geopackage',
      path: 'roads.gpkg',
      table: 'roads',
      geometryColumn: 'geom',
      geometryType,
      hasZ: false,
      idColumn: 'fid',
      hasIndex: true,
      writable: false,
      crs: 'EPSG:4326',
      fields: [
        { name: 'name', type: 'string', nullable: true },
        { name: 'lanes', type: 'integer', nullable: false },
      ],
    },
    ...over,
  };
}

export function rasterCollection(over: Partial<RasterCollection> = {}): RasterCollection {
  const box = [-35, -8.1, -34.8, -7.9] as const;
  const bands = [
    {
      band: 1,
      type: 'Float32',
      noData: -9999,
      description: 'height',
      colorInterpretation: 'Gray',
      unit: 'm',
      statistics: { min: -1, max: 88.25, mean: 12.5, stdDev: 3 },
    },
  ];
  return {
    kind: 'raster',
    id: 'dem',
    layerId: 8,
    title: 'Elevation',
    description: '',
    extent84: box,
    storageCrs: CRS84,
    crs: [CRS84],
    file: 'dem.tif',
    style: { version: 0, layers: [{ id: 'raster', type: 'raster' }] },
    version: '1',
    origin: 'o',
    bands,
    raster: {
      source: { kind: 'file', path: 'dem.tif' },
      driver: 'GTiff',
      width: 111,
      height: 112,
      geoTransform: [0, 90, 0, 0, 0, -90],
      crs: 'EPSG:31985',
      epsg: 31985,
      extent: box,
      extent84: box,
      bands,
      overviewCount: 0,
      blockSize: [111, 16],
    },
    ...over,
  };
}

/** Polygons of the whole world. */
export function worldCollection(): VectorCollection {
  return vectorCollection({
    id: 'countries',
    layerId: 1,
    title: 'Countries',
    extent84: [-180, -90, 180, 84],
    featureCount: 240,
  });
}

export function published(): Collection[] {
  return [worldCollection(), vectorCollection(), rasterCollection()];
}
