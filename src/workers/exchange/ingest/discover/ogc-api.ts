import type { RemoteLayer, RemoteService, SourceKind } from '../../../../core/exchange/ingest.js';
import { boxOf, integer, type Json, type Link, linksOf, object, objects, sridOf, string } from '../json.js';

/** What of a landing page, and of its list of collections, is data. */

const RELATIONS = 'http://www.opengis.net/def/rel/ogc/1.0/';

/** Whether a document is a landing page of OGC API, or a catalog of STAC. */
export function isLanding(document: Json, links: readonly Link[]): boolean {
  if (string(document['stac_version'])) return true;
  return ['conformance', 'data'].some((name) => linkOf(links, name) !== undefined);
}

export function linkOf(links: readonly Link[], name: string): Link | undefined {
  const fits = links.filter(({ rel }) => rel === name || rel === RELATIONS + name);
  return (
    fits.find(({ type }) => /json/.test(type ?? '')) ?? fits.find(({ type }) => type === undefined) ?? fits[0]
  );
}

/** Services of a landing page with its collections: features, tiles, maps and items of STAC are told apart. */
export function servicesOf(url: string, landing: Json, collections: readonly Json[]): RemoteService[] {
  const name = string(landing['title']) ?? string(landing['id']) ?? new URL(url).host;
  const description = string(landing['description']);
  const isStac = string(landing['stac_version']) !== undefined;
  const service = (kind: SourceKind, layers: readonly RemoteLayer[]): RemoteService[] =>
    layers.length === 0 ? [] : [{ kind, name, description, url, layers }];
  if (isStac)
    return service(
      'stac',
      collections.map((one) => layerOf('stac', one)),
    );
  const having = (kind: SourceKind, ...relations: readonly string[]) =>
    service(
      kind,
      collections
        .filter((one) => relations.some((relation) => linkOf(linksOf(one, url), relation)))
        .map((one) => layerOf(kind, one)),
    );
  return [
    ...having('ogc-api-features', 'items'),
    ...having('ogc-api-tiles', 'tilesets-vector', 'tilesets-map', 'tilesets-coverage'),
    ...having('ogc-api-maps', 'map'),
  ];
}

function layerOf(kind: SourceKind, collection: Json): RemoteLayer {
  const spatial = object(object(collection['extent'])['spatial']);
  const [first] = Array.isArray(spatial['bbox']) ? spatial['bbox'] : [];
  const box = boxOf(first);
  return {
    kind,
    name: string(collection['id']) ?? '',
    title: string(collection['title']),
    description: string(collection['description']),
    layerType: string(collection['itemType']),
    srid: sridOf(string(collection['storageCrs'])) ?? 4326,
    featureCount: integer(collection['numberItems']),
    ...(box ? { extent: { box, srid: 4326 } } : {}),
  };
}

/** Collections of a list, or those of a catalog of STAC that stand in the landing page. */
export function collectionsOf(document: Json): Json[] {
  return objects(document['collections']).filter(({ id }) => string(id) !== undefined);
}
