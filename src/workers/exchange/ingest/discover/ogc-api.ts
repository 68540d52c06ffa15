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

/** What of a landing page, and of its list of collections, is data. */

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

/** Services of a landing page with its collections: features, tiles, maps and items of STAC are told apart. */
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

/** Collections of a list, or those of a catalog of STAC that stand in the landing page. */
export function listApiCollections(document: RemoteJson): RemoteJson[] {
  return listJsonObjects(document['collections']).filter(({ id }) => string(id) !== undefined);
}
