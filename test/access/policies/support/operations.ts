import type { Known, Layer, Row } from './oracle.js';

/** One operation of the matrix: how it is asked, and what its answer must hold. */
export interface Operation {
  readonly name: string;
  /** `sites` when absent. */
  readonly table?: 'closed' | 'sites';
  request(layer: Layer, other: Layer): { path: string; method?: string; body?: unknown };
  /** 200 when absent; ANY_STATUS where stores differ. */
  status?(known: Known): number;
  /** What an answer of 200 lacks or contradicts. */
  missing(text: string, known: Known): string[];
}

export const ANY_STATUS = 0;

const at = (path: (layer: Layer, other: Layer) => string): Operation['request'] => {
  return (layer, other) => ({ path: path(layer, other) });
};
const items = (query: string) =>
  at(
    ({ id }) =>
      `/ogc/features/collections/${id}/items?${query.includes('limit=') ? '' : 'limit=1000&'}${query}`,
  );
const readable = (known: Known) => known.refusal ?? 200;
/** Vector tiles without features are 204, maps of nothing 404. */
const emptyOr = (status: number, other: (known: Known) => number) => (known: Known) =>
  other(known) === 200 && known.rows.length === 0 ? status : other(known);
/** Only for those who may read what masks leave of an attribute. */
const shown = (known: Known) => known.refusal ?? (known.isMasked && !known.isTreated ? 400 : 200);
/** Only for those who may read what is masked. */
const unmasked = (known: Known) => known.refusal ?? (known.isMasked ? 400 : 200);

const nothing = () => [];
const bodyOf = (text: string) => text.slice(text.indexOf('\n\n') + 2);
const jsonOf = (text: string) => JSON.parse(bodyOf(text)) as Record<string, never>;

/** All rows are there, with all that may be read of them. */
function everyRow(text: string, { audience, rows, isMasked, isTreated }: Known): string[] {
  const treated = isTreated && !SHOWN[audience]!.test(text) ? ['lacks what the mask leaves'] : [];
  const rowsOwn = rows.flatMap(({ token, note }) => [
    ...(text.includes(token) ? [] : [`lacks ${token}`]),
    ...(isMasked || text.includes(note) ? [] : [`lacks ${note}`]),
  ]);
  return [...treated, ...rowsOwn];
}

/** What a mask leaves of the attributes. */
const SHOWN: { [A in Known['audience']]?: RegExp } = {
  nulled: /(?:)/,
  hashed: /(?<![\da-f])[\da-f]{16}(?![\da-f])/,
  truncated: /snt(?!\d)/,
};
const everyToken = (text: string, { rows }: Known) =>
  rows.flatMap(({ token }) => (text.includes(token) ? [] : [`lacks ${token}`]));

/** As many as there are rows. */
const sum =
  (count: (document: Record<string, never>) => unknown) =>
  (text: string, { rows }: Known): string[] => {
    const told = count(jsonOf(text));
    return told === rows.length ? [] : [`tells of ${told} rows in place of ${rows.length}`];
  };
const featuresOf = (document: Record<string, never>) =>
  document['features'] as unknown as { properties: Record<string, number> }[];
const total = (member: string) => (document: Record<string, never>) =>
  featuresOf(document).reduce((all, { properties }) => all + properties[member]!, 0);

/** The box of the rows that may be known, and no other. */
const box =
  (boxOf: (document: Record<string, never>) => unknown) =>
  (text: string, known: Known): string[] => {
    const told = boxOf(jsonOf(text)) as number[] | undefined;
    const near = told?.length === 4 && told.every((side, i) => Math.abs(side - known.box[i]!) < 1e-6);
    return near ? [] : [`has the box ${JSON.stringify(told)} in place of ${known.box}`];
  };
const spatialBox = (document: Record<string, never>) =>
  (document as { extent?: { spatial?: { bbox?: number[][] } } }).extent?.spatial?.bbox?.[0];

/** What may be asked and drawn by. */
const HAS_SECRET = (text: string, { isMasked }: Known) =>
  isMasked !== text.includes('hidden_note') ? [] : [isMasked ? 'tells of hidden_note' : 'lacks hidden_note'];
/** What is shown. */
const SHOWS_SECRET = (text: string, { isMasked, isTreated }: Known) =>
  (isMasked && !isTreated) !== text.includes('hidden_note') ? [] : ['has hidden_note, or lacks it'];

const post =
  (path: string, body: (other: Layer) => unknown): Operation['request'] =>
  ({ id }, other) => ({
    path: `/ogc/features/collections/${id}/${path}`,
    method: 'POST',
    body: body(other),
  });

function read(name: string, request: Operation['request'], missing: Operation['missing']): Operation {
  return { name, request, status: readable, missing };
}

const ITEMS: readonly Operation[] = [
  read('items as GeoJSON', items('f=json'), everyRow),
  read('items as CSV', items('f=csv'), everyRow),
  read('items as GML', items('f=gml'), everyRow),
  read(
    'items as a page',
    at(({ id }) => `/ogc/features/collections/${id}/items?f=html&limit=50`),
    everyToken,
  ),
  read(
    'the number of matches',
    items('f=json'),
    sum((document) => document['numberMatched']),
  ),
  read(
    'a short page',
    items('f=json&limit=2'),
    sum((document) => document['numberMatched']),
  ),
  read('pages of one', items('f=json&limit=1&sortby=-token'), nothing),
  read('a window', items('f=json&bbox=-180,-90,180,90'), everyRow),
  read('a filter', items(`f=json&filter=token%20LIKE%20'tkn%25'`), everyRow),
  read('a filter that matches hidden rows', items(`f=json&filter=token%3D'tkn03q7'`), nothing),
  {
    // Of rows of level 3 and 4, which the limited do not have, PostgreSQL cannot work it out.
    name: 'a filter that fails of hidden rows',
    request: items(`f=json&filter=${encodeURIComponent('level * 6e307 > 0')}`),
    status: (known) => known.refusal ?? (known.hiddenRows.length > 0 ? 200 : ANY_STATUS),
    missing: nothing,
  },
  read('an order', items('f=json&sortby=-token'), everyRow),
  read('one property', items('f=json&properties=token'), everyToken),
  read('a query by a property', items('f=json&level=1'), (text, known) =>
    known.rows
      .filter(({ level }) => level === 1)
      .flatMap(({ token }) => (text.includes(token) ? [] : [`lacks ${token}`])),
  ),
  {
    name: 'a filter on a masked property',
    request: items(`f=json&filter=${encodeURIComponent("hidden_note > 'a'")}`),
    status: unmasked,
    missing: everyToken,
  },
  {
    name: 'an order by a masked property',
    request: items('f=json&sortby=hidden_amount'),
    status: unmasked,
    missing: everyToken,
  },
  {
    name: 'a masked property alone',
    request: items('f=json&properties=hidden_note'),
    status: shown,
    missing: nothing,
  },
  {
    name: 'a query by a masked property',
    request: items('f=json&hidden_amount=703039'),
    status: unmasked,
    missing: nothing,
  },
];

/** One that the limited see, and one that they do not see. */
const SINGLES: readonly Operation[] = [4, 5, 12, 21].flatMap((id) =>
  ['json', 'html', 'csv', 'gml'].map(
    (format): Operation => ({
      name: `feature ${id} as ${format}`,
      request: at((layer) => `/ogc/features/collections/${layer.id}/items/${id}?f=${format}`),
      status: (known) => known.refusal ?? (known.rows.some((row) => row.id === id) ? 200 : 404),
      missing: (text, { rows }) => {
        const { token } = rows.find((row) => row.id === id) as Row;
        return text.includes(token) ? [] : [`lacks ${token}`];
      },
    }),
  ),
);

const DOCUMENTS: readonly Operation[] = [
  read(
    'queryables',
    at(({ id }) => `/ogc/features/collections/${id}/queryables?f=json`),
    HAS_SECRET,
  ),
  read(
    'queryables as a page',
    at(({ id }) => `/ogc/features/collections/${id}/queryables?f=html`),
    HAS_SECRET,
  ),
  read(
    'schema',
    at(({ id }) => `/ogc/features/collections/${id}/schema?f=json`),
    SHOWS_SECRET,
  ),
  read(
    'schema as XML',
    at(({ id }) => `/ogc/features/collections/${id}/schema?f=xsd`),
    SHOWS_SECRET,
  ),
  read(
    'collection',
    at(({ id }) => `/ogc/features/collections/${id}?f=json`),
    box(spatialBox),
  ),
  read(
    'collection as XML',
    at(({ id }) => `/ogc/features/collections/${id}?f=xml`),
    nothing,
  ),
  read(
    'collection as a page',
    at(({ id }) => `/ogc/features/collections/${id}?f=html`),
    (text, { rows }) =>
      text.includes(`<dt>Features</dt><dd>${rows.length}</dd>`)
        ? []
        : [`does not tell of ${rows.length} features`],
  ),
  read(
    'statistics',
    at(({ id }) => `/ogc/features/collections/${id}/statistics?f=json`),
    sum((d) => d['read']),
  ),
  read(
    'statistics as a page',
    at(({ id }) => `/ogc/features/collections/${id}/statistics?f=html`),
    nothing,
  ),
  read(
    'collection of maps',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}?f=json`),
    box(spatialBox),
  ),
  read(
    'collection of tiles',
    at(({ layerId }) => `/ogc/tiles/collections/${layerId}?f=json`),
    box(spatialBox),
  ),
  read(
    'collection of STAC',
    at(({ id }) => `/stac/collections/${id}`),
    box(spatialBox),
  ),
  read(
    'TileJSON',
    at(({ id }) => `/tiles/${id}`),
    (text, known) => (known.rows.length === 0 ? [] : box((d) => d['bounds'])(text, known)),
  ),
  read(
    'tileset',
    at(({ layerId }) => `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad?f=json`),
    nothing,
  ),
  read(
    'tilesets',
    at(({ layerId }) => `/ogc/tiles/collections/${layerId}/tiles?f=json`),
    nothing,
  ),
  read(
    'tilesets of maps',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/map/tiles?f=json`),
    nothing,
  ),
  read(
    'connection of QGIS',
    at(({ id }) => `/pages/collections/${id}/qgis-features.xml`),
    nothing,
  ),
];

const STYLES: readonly Operation[] = [
  read(
    'styles',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/styles?f=json`),
    nothing,
  ),
  read(
    'style',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/styles/default?f=mapbox`),
    HAS_SECRET,
  ),
  read(
    'style as SLD',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/styles/default?f=sld11`),
    HAS_SECRET,
  ),
  read(
    'legend',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/legend?f=json`),
    nothing,
  ),
  read(
    'legend as SVG',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/legend?f=svg`),
    nothing,
  ),
  read(
    'style of several',
    at(({ layerId }) => `/ogc/maps/styles/default?f=mapbox&collections=${layerId}`),
    HAS_SECRET,
  ),
  read(
    'viewer',
    at(({ id }) => `/ogc/maps/viewer?collections=${id}`),
    nothing,
  ),
  read(
    'live page',
    at(({ id }) => `/live?collections=${id}`),
    nothing,
  ),
];

function tile(...parts: Parameters<typeof read>): Operation {
  return { ...read(...parts), status: emptyOr(204, readable) };
}

const TILES: readonly Operation[] = [
  tile(
    'vector tile',
    at(({ id }) => `/tiles/${id}/0/0/0.mvt`),
    everyRow,
  ),
  tile(
    'vector tile of OGC',
    at(({ layerId }) => `/ogc/tiles/collections/${layerId}/tiles/WebMercatorQuad/3/2/4?f=mvt`),
    everyRow,
  ),
  tile(
    'vector tile with one property',
    at(({ id }) => `/tiles/${id}/0/0/0.mvt?properties=token`),
    everyToken,
  ),
  tile(
    'vector tile with a filter',
    at(({ id }) => `/tiles/${id}/0/0/0.mvt?filter=level%3E0`),
    everyRow,
  ),
  {
    name: 'vector tile with a masked filter',
    request: at(({ id }) => `/tiles/${id}/0/0/0.mvt?filter=hidden_amount%3E0`),
    status: emptyOr(204, unmasked),
    missing: everyToken,
  },
  {
    name: 'vector tile with a masked property',
    request: at(({ id }) => `/tiles/${id}/0/0/0.mvt?properties=hidden_note`),
    status: emptyOr(204, shown),
    missing: nothing,
  },
];

/** What a map without a box shows is all that may be seen. */
const wholeMap = (text: string, { box: [west, south, east, north] }: Known): string[] => {
  const told = /content-bbox: (.*)/.exec(text)?.[1]?.split(',').map(Number) ?? [];
  const near = [west, south, east, north].every((side, i) => Math.abs(side - (told[i] ?? 0)) < 1e-6);
  return near ? [] : [`shows ${told} in place of ${[west, south, east, north]}`];
};
const CRS84 = encodeURIComponent('http://www.opengis.net/def/crs/OGC/1.3/CRS84');

function map(...parts: Parameters<typeof read>): Operation {
  return { ...read(...parts), status: emptyOr(404, readable) };
}

const MAPS: readonly Operation[] = [
  map(
    'map',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/map?width=200&crs=${CRS84}`),
    wholeMap,
  ),
  map(
    'styled map',
    at(({ layerId }) => `/ogc/maps/collections/${layerId}/styles/default/map?width=200&crs=${CRS84}`),
    wholeMap,
  ),
];

const ANALYTICS: readonly Operation[] = [
  read(
    'H3 cells',
    at(({ id }) => `/ogc/features/collections/${id}/h3?resolution=4`),
    sum(total('count')),
  ),
  read(
    'clusters',
    post('clusters', () => ({ algorithm: 'kmeans', k: 2 })),
    (text, known) => [...everyRow(text, known), ...sum((d) => featuresOf(d).length)(text, known)],
  ),
  read(
    'density',
    post('density', () => ({ mode: 'square', cellSize: 20000 })),
    sum(total('featureCount')),
  ),
  read(
    'spatial join',
    post('spatial-join', ({ layerId }) => ({ joinLayerId: layerId, predicate: 'intersects' })),
    (text, known) => [...everyRow(text, known), ...sum((d) => featuresOf(d).length)(text, known)],
  ),
  read(
    'buffers',
    post('buffer-aggregate', () => ({ distance: 100, dissolve: false })),
    sum((d) => featuresOf(d).length),
  ),
  {
    name: 'statistics of a masked property',
    request: post('buffer-aggregate', () => ({
      distance: 100,
      outStatistics: [{ statisticType: 'max', onStatisticField: 'hidden_amount' }],
    })),
    status: unmasked,
    missing: nothing,
  },
];

const CLOSED: readonly Operation[] = [
  ['items of a closed layer', items('f=json')],
  ['a feature of a closed layer', at(({ id }) => `/ogc/features/collections/${id}/items/3`)],
  ['the closed collection', at(({ id }) => `/ogc/features/collections/${id}`)],
  ['a tile of a closed layer', at(({ id }) => `/tiles/${id}/0/0/0.mvt`)],
  ['an image of a closed layer', at(({ id }) => `/tiles/${id}/0/0/0.png`)],
  ['TileJSON of a closed layer', at(({ id }) => `/tiles/${id}`)],
  ['a map of a closed layer', at(({ layerId }) => `/ogc/maps/collections/${layerId}/map?width=64`)],
  ['statistics of a closed layer', at(({ id }) => `/ogc/features/collections/${id}/statistics?f=json`)],
  ['a legend of a closed layer', at(({ layerId }) => `/ogc/maps/collections/${layerId}/legend?f=json`)],
  ['cells of a closed layer', at(({ id }) => `/ogc/features/collections/${id}/h3?resolution=4`)],
  ['a closed collection of STAC', at(({ id }) => `/stac/collections/${id}`)],
].map(([name, request]) => ({
  ...read(name as string, request as Operation['request'], nothing),
  table: 'closed' as const,
}));

/** GeoServices tell of failures in band: of those who may read nothing, and of what may not be asked. */
function binsPath(layerId: number, field: string, others: string): string {
  const bin = `{"type":"autoIntervalBin","onField":"${field}","parameters":{"numberOfBins":2},${others}}`;
  return `FeatureServer/${layerId}/queryBins?f=json&bin=${encodeURIComponent(bin)}`;
}

function geoService(
  name: string,
  path: (layer: Layer) => string,
  missing: Operation['missing'],
  status: (known: Known) => number = readable,
): Operation {
  return {
    name: `GeoServices: ${name}`,
    request: at((layer) => `/rest/services/default/${path(layer)}`),
    missing(text, known) {
      const { error } = jsonOf(text) as { error?: { code: number } };
      const expected = status(known);
      if (expected === 200) return error ? [`tells of ${JSON.stringify(error)}`] : missing(text, known);
      return error ? [] : ['tells of no failure'];
    },
  };
}

const PLACE = 'geometry=-180,-90,180,90&geometryType=esriGeometryEnvelope&sr=4326&f=json';

/** A query of statistics, with more parameters. */
const statistics = (type: string, field: string, more: Record<string, string> = {}) => {
  const outStatistics = JSON.stringify([
    { statisticType: type, onStatisticField: field, outStatisticFieldName: 'told' },
  ]);
  const search = new URLSearchParams({ outStatistics, f: 'json', ...more });
  return ({ layerId }: Layer) => `FeatureServer/${layerId}/query?${search}`;
};
const groupsOf = (text: string) =>
  (jsonOf(text) as unknown as { features: { attributes: Record<string, unknown> }[] }).features.map(
    ({ attributes }) => attributes,
  );

const STATISTICS: readonly Operation[] = [
  geoService('a count', statistics('count', 'id'), (text, { rows }) =>
    groupsOf(text)[0]!['told'] === rows.length ? [] : [`tells of other than ${rows.length} rows`],
  ),
  geoService('the last of a field', statistics('max', 'token'), (text, { rows }) => {
    const last =
      rows
        .map(({ token }) => token)
        .sort()
        .at(-1) ?? null;
    return groupsOf(text)[0]!['told'] === last ? [] : [`lacks ${last}`];
  }),
  geoService(
    'groups',
    statistics('count', 'id', { groupByFieldsForStatistics: 'token', having: 'COUNT(*) > 0' }),
    everyToken,
  ),
  geoService(
    'a statistic of a masked field',
    statistics('max', 'hidden_amount'),
    (text, { rows }) => {
      const most = Math.max(...rows.map(({ amount }) => Number(amount)));
      return rows.length === 0 || groupsOf(text)[0]!['told'] === most ? [] : [`lacks ${most}`];
    },
    unmasked,
  ),
  geoService('how many values a masked field has', statistics('count', 'hidden_note'), nothing, unmasked),
  geoService(
    'groups by a masked field',
    statistics('count', 'id', { groupByFieldsForStatistics: 'hidden_note' }),
    nothing,
    unmasked,
  ),
  geoService(
    'a condition on groups by a masked field',
    statistics('count', 'id', { having: "MAX(hidden_note) > 'a'" }),
    nothing,
    unmasked,
  ),
  geoService(
    'distinct values',
    ({ layerId }) => `FeatureServer/${layerId}/query?outFields=token&returnDistinctValues=true&f=json`,
    everyToken,
  ),
  geoService(
    'distinct values of a masked field',
    ({ layerId }) =>
      `FeatureServer/${layerId}/query?outFields=hidden_note&returnDistinctValues=true&returnCountOnly=true&f=json`,
    nothing,
    unmasked,
  ),
  geoService(
    'the first of each group',
    ({ layerId }) =>
      `FeatureServer/${layerId}/queryTopFeatures?outFields=token&f=json&topFilter=${encodeURIComponent(
        '{"groupByFields":"token","topCount":1,"orderByFields":"level"}',
      )}`,
    everyToken,
  ),
  geoService(
    'the first of each group by a masked field',
    ({ layerId }) =>
      `FeatureServer/${layerId}/queryTopFeatures?f=json&topFilter=${encodeURIComponent(
        '{"groupByFields":"token","topCount":1,"orderByFields":"hidden_amount"}',
      )}`,
    nothing,
    unmasked,
  ),
  geoService(
    'bins of each token',
    ({ layerId }) => binsPath(layerId, 'level', '"splitBy":{"value":"token"}'),
    everyToken,
  ),
  geoService(
    'a renderer of tokens',
    ({ layerId }) =>
      `FeatureServer/${layerId}/generateRenderer?f=json&classificationDef=${encodeURIComponent(
        '{"type":"uniqueValueDef","uniqueValueFields":["token"]}',
      )}`,
    everyToken,
  ),
  geoService(
    'a renderer of a masked field',
    ({ layerId }) =>
      `MapServer/${layerId}/generateRenderer?f=json&classificationDef=${encodeURIComponent(
        '{"type":"classBreaksDef","classificationField":"hidden_amount"}',
      )}`,
    nothing,
    unmasked,
  ),
  geoService(
    'bins of a masked field',
    ({ layerId }) => binsPath(layerId, 'hidden_amount', '"firstDayOfWeek":7'),
    nothing,
    unmasked,
  ),
];

const GEOSERVICES: readonly Operation[] = [
  geoService('a layer', ({ layerId }) => `FeatureServer/${layerId}?f=json`, nothing),
  geoService(
    'features',
    ({ layerId }) => `FeatureServer/${layerId}/query?where=1%3D1&outFields=*&f=json`,
    everyRow,
  ),
  geoService(
    'how many there are',
    ({ layerId }) => `FeatureServer/${layerId}/query?where=1%3D1&returnCountOnly=true&f=json`,
    sum((document) => document['count']),
  ),
  geoService(
    'a condition on a masked field',
    ({ layerId }) => `FeatureServer/${layerId}/query?where=hidden_note%20%3E%20%27a%27&outFields=*&f=json`,
    everyToken,
    unmasked,
  ),
  geoService('a map layer', ({ layerId }) => `MapServer/${layerId}?f=json`, nothing),
  geoService(
    'what lies at a place',
    ({ layerId }) => `MapServer/identify?${PLACE}&layers=all:${layerId}`,
    everyRow,
  ),
  geoService(
    'what holds a text',
    ({ layerId }) => `MapServer/find?searchText=tkn&layers=${layerId}&f=json`,
    everyRow,
  ),
  geoService(
    'what holds a text of a masked field',
    ({ layerId }) => `MapServer/find?searchText=snt&layers=${layerId}&f=json`,
    (text, known) => (known.isMasked ? [] : everyRow(text, known)),
  ),
];

/** The data of a layer as a file. */
const EXPORTS: readonly Operation[] = ['csv', 'geojson', 'kml', 'shapefile', 'gpkg', 'flatgeobuf'].map(
  (format) => ({
    name: `export as ${format}`,
    request: at(({ layerId }) => `/api/v1/admin/services/default/layers/${layerId}/export?format=${format}`),
    status: (known) => known.refusal ?? (known.audience === 'anonymous' ? 401 : 200),
    // The other formats are packed.
    missing: ['csv', 'geojson', 'kml'].includes(format) ? everyRow : nothing,
  }),
);

export const OPERATIONS: readonly Operation[] = [
  ...EXPORTS,
  ...ITEMS,
  ...SINGLES,
  ...DOCUMENTS,
  ...STYLES,
  ...TILES,
  ...MAPS,
  ...ANALYTICS,
  ...CLOSED,
  ...GEOSERVICES,
  ...STATISTICS,
];
