import type { Json } from './documents.js';

/** Bodies that are carried out on the demo data, by the ends of paths: what is spoilt of them reaches further in. */

const feature = (geometry: object | null, properties: object = { NAME: 'new' }) => ({
  type: 'Feature',
  geometry,
  properties,
});
const square = (x: number, y: number) => [
  [
    [x, y],
    [x + 1, y],
    [x + 1, y + 1],
    [x, y + 1],
    [x, y],
  ],
];
const SQUARE = { type: 'Polygon', coordinates: square(7, 46) };
const MANY = { type: 'MultiPolygon', coordinates: [square(1, 1), square(5, 5)] };

const SLD = (version: string, symbolizer: string) =>
  `<?xml version="1.0"?><StyledLayerDescriptor version="${version}" xmlns="http://www.opengis.net/sld" xmlns:ogc="http://www.opengis.net/ogc"><NamedLayer><Name>a</Name><UserStyle><FeatureTypeStyle><Rule><ogc:Filter><ogc:PropertyIsEqualTo><ogc:PropertyName>NAME</ogc:PropertyName><ogc:Literal>France</ogc:Literal></ogc:PropertyIsEqualTo></ogc:Filter>${symbolizer}</Rule></FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>`;
const FILL =
  '<PolygonSymbolizer><Fill><CssParameter name="fill">#00ff00</CssParameter></Fill></PolygonSymbolizer>';

const STYLE = {
  version: 8,
  sources: {},
  layers: [
    {
      id: 'fill',
      type: 'fill',
      paint: { 'fill-color': ['case', ['==', ['get', 'NAME'], 'France'], '#ff0000', '#00ff00'] },
    },
    {
      id: 'line',
      type: 'line',
      filter: ['>', ['get', 'POP_EST'], 1000],
      paint: { 'line-width': ['interpolate', ['linear'], ['zoom'], 0, 1, 10, 4] },
    },
  ],
};

const where = { where: "NAME LIKE 'S%'", geometry: '0,30,30,60', geometryType: 'esriGeometryEnvelope' };
const outStatistics = [{ statisticType: 'count', onStatisticField: 'NAME', outStatisticFieldName: 'n' }];

export const RIGHT_BODIES: readonly (readonly [end: string, bodies: readonly Json[]])[] = [
  ['/items', [feature(SQUARE), feature(MANY), feature(null), feature(SQUARE, {})]],
  [
    '/items/{featureId}',
    [feature(SQUARE), feature(MANY, { NAME: 'x', POP_EST: 5 }), { properties: { NAME: 'y' } }],
  ],
  [
    '/items/batch',
    [
      {
        operations: [
          { type: 'CREATE', feature: feature(SQUARE) },
          { type: 'REPLACE', featureId: '5', feature: feature(MANY) },
          { type: 'UPDATE', featureId: '6', feature: { properties: { NAME: 'z' } } },
          { type: 'DELETE', featureId: '7' },
        ],
      },
      { operations: [{ type: 'CREATE', feature: feature(null) }], atomic: true },
      { operations: [{ type: 'DELETE', featureId: 'x' }], failFast: true },
    ],
  ],
  [
    '/clusters',
    [
      { eps: 50_000, minPoints: 2, ...where, outStatistics },
      { algorithm: 'kmeans', k: 3, returnHullPerCluster: true, ...where },
    ],
  ],
  [
    '/spatial-join',
    [
      { joinLayerId: 4, predicate: 'intersects', carryFields: 'NAME', outStatistics, ...where },
      { joinLayerId: '4', predicate: 'dwithin', distance: 1000, ...where },
    ],
  ],
  [
    '/buffer-aggregate',
    [
      { distance: 1000, unit: 'meters', dissolve: true, groupByFields: 'NAME', outStatistics, ...where },
      { distance: '5', unit: 'km', dissolve: false, ...where },
    ],
  ],
  [
    '/density',
    [
      { cellSize: 100_000, mode: 'square', ...where },
      { cellSize: 100_000, mode: 'hex', ...where },
    ],
  ],
  [
    '/stac/search',
    [
      {
        bbox: [-180, -90, 180, 90],
        datetime: '1990-01-01T00:00:00Z/..',
        limit: 1,
        sortby: [{ field: 'id', direction: 'asc' }],
      },
      {
        intersects: SQUARE,
        collections: ['l7_etms'],
        ids: ['l7_etms'],
        fields: { include: ['id'], exclude: ['assets'] },
      },
      {
        filter: {
          op: 'and',
          args: [
            { op: '>', args: [{ property: 'gsd' }, 5] },
            { op: 's_intersects', args: [{ property: 'geometry' }, SQUARE] },
          ],
        },
        'filter-lang': 'cql2-json',
      },
      { filter: "id LIKE 'l%' AND gsd > 1", 'filter-lang': 'cql2-text' },
    ],
  ],
  [
    '/api-keys',
    [
      { name: 'written', permissions: ['admin:read'] },
      { name: 'b', permissions: ['write:countries'], expiresAt: '2099-01-01T00:00:00Z' },
    ],
  ],
  [
    '/tile-operations/jobs',
    [
      {
        operation: 'seed',
        layerId: 2,
        minZoom: 0,
        maxZoom: 1,
        bbox: [0, 0, 10, 10],
        format: 'mvt',
        concurrency: 1,
      },
      { operation: 'archive', layerId: 2, maxZoom: 1, container: 'mbtiles' },
    ],
  ],
  ['/style', [{ mapLibreStyle: STYLE }, { mapLibreStyle: STYLE, name: 'a' }]],
  ['/style/import-sld', [SLD('1.0.0', FILL), SLD('1.1.0', FILL), SLD('1.0.0', '<LineSymbolizer/>')]],
  ['/suggest-style', [{ field: 'NAME', classCount: 3 }, {}]],
  ['/popup-info', [{ title: '{NAME}', fieldInfos: [{ fieldName: 'NAME', label: 'N', visible: true }] }]],
  [
    '/drawing-info',
    [
      {
        renderer: {
          type: 'simple',
          symbol: { type: 'esriSFS', style: 'esriSFSSolid', color: [1, 2, 3, 255] },
        },
      },
    ],
  ],
  ['/import/raster/{rasterId}', [{ name: 'a', description: 'b', acquisitionDate: '2024-01-01T00:00:00Z' }]],
  ['/import/upload', [{ TableName: 'fresh', OverwriteExisting: 'true', SourceSrid: '4326' }]],
];

export const rightBodies = (path: string): readonly Json[] =>
  RIGHT_BODIES.find(([end]) => path.endsWith(end))?.[1] ?? [];
