import type { RemoteLayer, RemoteService, SourceKind } from '../../../../core/exchange/ingest.js';
import {
  listJsonObjects,
  object,
  parseJsonBox,
  parseLinks,
  parseSrid,
  type RemoteJson,
  type RemoteLink,
  readJsonInteger,
  string,
} from '../json.js';

/** Link relations of data on a landing page and in its list of collections. */

const RELATIONS = 'http://www.opengis.net/def/rel/ogc/1.0/';

/** Whether a document is a landing page of OGC API, or a catalog of STAC. */
export function isLanding(document: RemoteJson, links: readonly RemoteLink[]): boolean {
  if (string(document['stac_version'])) return true;
  return ['conformance', 'data'].some((name) => findRelationLink(links, name) !== undefined);
}

export function findRelationLink(links: readonly RemoteLink[], name: string): RemoteLink | undefined {
  const fits = links.filter(({ rel }) => rel === name || rel === RELATIONS + name);
  return (
    fits.find(({ type }) => /json/.test(type ?? '')) ?? fits.find(({ type }) => type === undefined) ?? fits[0]
  );
}

/** Returns the services of a landing page and its collections: features, tiles, maps, and STAC items separately. */
export function parseLandingPage(
  url: string,
  landing: RemoteJson,
  collections: readonly RemoteJson[],
): RemoteService[] {
  const name = string(landing['title']) ?? string(landing['id']) ?? new URL(url).host;
  const description = string(landing['description']);
  const isStac = string(landing['stac_version']) !== undefined;
  const service = (kind: SourceKind, layers: readonly RemoteLayer[]): RemoteService[] =>
    layers.length === 0 ? [] : [{ kind, name, description, url, layers }];
  if (isStac)
    return service(
      'stac',
      collections.map((one) => parseLayer('stac', one)),
    );
  const having = (kind: SourceKind, ...relations: readonly string[]) =>
    service(
      kind,
      collections
        .filter((one) => relations.some((relation) => findRelationLink(parseLinks(one, url), relation)))
        .map((one) => parseLayer(kind, one)),
    );
  return [
    ...having('ogc-api-features', 'items'),
    ...having('ogc-api-tiles', 'tilesets-vector', 'tilesets-map', 'tilesets-coverage'),
    ...having('ogc-api-maps', 'map'),
  ];
}

function parseLayer(kind: SourceKind, collection: RemoteJson): RemoteLayer {
  const spatial = object(object(collection['extent'])['spatial']);
  const [first] = Array.isArray(spatial['bbox']) ? spatial['bbox'] : [];
  const box = parseJsonBox(first);
  return {
    kind,
    name: string(collection['id']) ?? '',
    title: string(collection['title']),
    description: string(collection['description']),
    layerType: string(collection['itemType']),
    srid: parseSrid(string(collection['storageCrs'])) ?? 4326,
    featureCount: readJsonInteger(collection['numberItems']),
    ...(box ? { extent: { box, srid: 4326 } } : {}),
  };
}

/** Returns the collections of a list, or the collections of a STAC catalog that the landing page contains. */
export function listApiCollections(document: RemoteJson): RemoteJson[] {
  return listJsonObjects(document['collections']).filter(({ id }) => string(id) !== undefined);
}
