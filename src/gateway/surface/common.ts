import Type from 'typebox';
import { findAttribution, hasCoverage, hasFeatures, isServed } from '../../core/catalog/abilities.js';
import type { CatalogSnapshot, Collection } from '../../core/catalog/collection.js';
import { findCollection, findNumbered } from '../../core/catalog/find.js';
import type { LayerAbout } from '../../core/catalog/layer-settings.js';
import { badParameter } from '../../core/errors/errors.js';
import { CRS84 } from '../../core/geometry/crs.js';
import { contentTag } from '../../core/http/content-tag.js';
import { type Format, HTML_FORMAT, JSON_FORMAT, linkType, XML_FORMAT } from '../../core/http/media.js';
import {
  defineOperation,
  type Exchange,
  type Operation,
  type Principal,
  type Reply,
} from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Licensing } from '../../core/licensing/entitlements.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { stringifyExactly } from '../../core/values/json.js';
import type { JsonText } from '../../core/values/json-text.js';
import { plainText } from '../../core/values/percent.js';
import type { AccessPolicy } from '../../services/access/access.js';
import type { RegionBoxes } from '../../services/exchange/places.js';
import { pageHeaders } from '../pages/security.js';

/** Seconds after which a client should retry if the source of a collection could not be read yet. */

/** Services for every surface. */
export interface SurfaceDeps {
  /** The catalog of this moment; never keep it across a wait that must see a reload. */
  catalog(): CatalogSnapshot;
  /** The current catalog as the principal may read it. All responses are made from it. */
  visible(principal: Principal): CatalogSnapshot;
  pools: Pools;
  /** Permissions of a principal for a collection. */
  access: AccessPolicy;
  licensing: Licensing;
  /** Countries and regions that lists are searched by. */
  places: RegionBoxes;
}

/** A link of RFC 8288, as all OGC API documents carry them. */
export interface Link {
  href: string;
  rel: string;
  type?: string;
  title?: string;
  templated?: boolean;
}

export const META_FORMATS: readonly Format[] = [JSON_FORMAT, HTML_FORMAT];

export const LinkSchema = Type.Object({
  href: Type.String(),
  rel: Type.String(),
  type: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  templated: Type.Optional(Type.Boolean()),
  hreflang: Type.Optional(Type.String()),
});

const REVALIDATE = 'no-cache';

/**
 * Replies with a document as JSON or as its page, as negotiated, with an entity tag; or as XML if the operation
 * offers that. XML responses also contain their links in a header (OGC 17-069r4, 8.4).
 */
export function documentReply(x: Exchange, document: unknown, page: () => string, xml?: () => string): Reply {
  const { format } = x;
  const body =
    format === HTML_FORMAT ? page() : xml && format === XML_FORMAT ? xml() : stringifyExactly(document);
  const reply = {
    status: 200,
    mediaType: format.mediaType,
    body,
    etag: contentTag(body),
    cacheControl: REVALIDATE,
  };
  if (format === HTML_FORMAT) return { ...reply, headers: pageHeaders() };
  if (format !== XML_FORMAT) return reply;
  return { ...reply, headers: { link: linkHeader((document as { links: Link[] }).links) } };
}

/** The reply with a document that is text already. */
export function replyWithJsonText({ format }: Exchange, body: JsonText): Reply {
  return { status: 200, mediaType: format.mediaType, body, etag: contentTag(body), cacheControl: REVALIDATE };
}

/** Value of a Link header (RFC 8288). Link templates are omitted. */
export function linkHeader(links: readonly Link[]): string {
  return links
    .filter(({ templated }) => !templated)
    .map(({ href, rel, type }) => {
      const as = type === undefined ? '' : `; type="${type.replace(/["\\]/g, '\\$&')}"`;
      return `<${href}>; rel="${rel}"${as}`;
    })
    .join(', ');
}

/** `self` and `alternate` links of a resource in all its formats. */
export function formatLinks(x: Exchange, path: string, formats: readonly Format[], query = ''): Link[] {
  return formats.map((format) => ({
    href: withQuery(`${x.baseUrl}${path}`, query, format.name),
    rel: format === x.format ? 'self' : 'alternate',
    type: linkType(format),
    title: format === x.format ? 'This document' : `This document as ${format.name.toUpperCase()}`,
  }));
}

/**
 * Map of a collection, in CRS84 where it has a place on Earth: GDAL takes what the link leads to for longitudes and
 * latitudes, whatever the default of the map is.
 */
export function mapLink(baseUrl: string, { layerId, storageCrs }: Collection): Link {
  const query = storageCrs.isPlane ? '' : `?crs=${encodeURIComponent(CRS84.uri)}`;
  return {
    href: `${baseUrl}/ogc/maps/collections/${layerId}/map${query}`,
    rel: 'http://www.opengis.net/def/rel/ogc/1.0/map',
    type: 'image/png',
    title: 'Map',
  };
}

/** Descriptive members of a collection from its operator (OGC 20-024, 8.2). */
export function aboutMembers(collection: Collection) {
  const { keywords, publisher } = collection.about ?? {};
  const attribution = findAttribution(collection);
  return {
    ...(keywords ? { keywords } : {}),
    ...(attribution ? { attribution } : {}),
    ...(publisher ? { publisher } : {}),
  };
}

/** Its licence, and where the data comes from. */
export function aboutLinks(baseUrl: string, { about = {}, derivedFrom = [] }: Collection): Link[] {
  const { license, sourceUrl } = about;
  const terms = licenseUrl(about);
  return [
    ...(terms ? [{ href: terms, rel: 'license', title: license ?? 'Licence' }] : []),
    ...(sourceUrl ? [{ href: sourceUrl, rel: 'via', title: 'Source of the data' }] : []),
    ...derivedFrom.map((source) => ({
      href: baseUrl + buildPath(source),
      rel: 'via',
      title: `${source.title}: this collection is a copy of it`,
    })),
  ];
}

function buildPath(collection: Collection): string {
  if (hasFeatures(collection)) return `/ogc/features/collections/${collection.id}`;
  return hasCoverage(collection) ? `/ogc/coverages/collections/${collection.id}` : `/tiles/${collection.id}`;
}

/** The text of a licence: as stated, else that of its SPDX identifier. */
function licenseUrl({ license, licenseUrl: stated }: LayerAbout): string | undefined {
  if (stated) return stated;
  const isSpdx = license !== undefined && license !== 'proprietary' && /^[\w.+-]+$/.test(license);
  return isSpdx ? `https://spdx.org/licenses/${license}.html` : undefined;
}

/** Maps of a collection and what describes them, where its maps are served. */
export function mapLinks(baseUrl: string, collection: Collection): Link[] {
  if (!isServed(collection, 'OgcMaps')) return [];
  const { layerId } = collection;
  return [mapLink(baseUrl, collection), mapCollectionLink(baseUrl, layerId), stylesLink(baseUrl, layerId)];
}

/** Maps and tiles of all collections together, for landing pages. */
export function datasetLinks({ baseUrl }: Pick<Exchange, 'baseUrl'>): Link[] {
  const rel = 'http://www.opengis.net/def/rel/ogc/1.0';
  const type = 'application/json';
  return [
    {
      href: `${baseUrl}/ogc/maps/map`,
      rel: `${rel}/map`,
      type: 'image/png',
      title: 'Map of all collections',
    },
    { href: `${baseUrl}/ogc/tiles/tiles`, rel: `${rel}/tilesets-vector`, type, title: 'Vector tilesets' },
    { href: `${baseUrl}/ogc/maps/map/tiles`, rel: `${rel}/tilesets-map`, type, title: 'Map tilesets' },
  ];
}

/** The collection as its maps are described. */
export function mapCollectionLink(baseUrl: string, layerId: number): Link {
  const href = `${baseUrl}/ogc/maps/collections/${layerId}`;
  return { href, rel: 'related', type: 'application/json', title: 'Maps of the collection' };
}

/** Link to the list of styles of a collection (OGC API Styles, 20-009). */
export function stylesLink(baseUrl: string, layerId: number): Link {
  return {
    href: `${baseUrl}/ogc/maps/collections/${layerId}/styles`,
    rel: 'http://www.opengis.net/def/rel/ogc/1.0/styles',
    type: 'application/json',
    title: 'Styles',
  };
}

/** Appends `f` to a query string, replacing one that is there. */
export function withQuery(url: string, query: string, f: string): string {
  const parameters = query
    .split('&')
    .filter((part) => part !== '' && !part.startsWith('f='))
    .join('&');
  return `${url}?${parameters ? `${parameters}&` : ''}f=${f}`;
}

/** Collections named by the `collections` parameter: ids, numbers or URLs; all that `fits` when it is absent. */
export function selectCollections(
  { baseUrl }: Pick<Exchange, 'baseUrl'>,
  catalog: CatalogSnapshot,
  names: readonly string[] | undefined,
  fits: (collection: Collection) => boolean,
): Collection[] {
  if (!names) return catalog.collections.filter(fits).slice(0, LIMITS.collectionsPerRequest);
  const collections = names.map((name) => {
    const collection = collectionNamed(baseUrl, catalog, name);
    if (!fits(collection)) throw badParameter('collections', `'${name}' cannot be shown this way`);
    return collection;
  });
  return [...new Set(collections)];
}

/** Paths of collections on the surfaces, with numbers or ids. */
const COLLECTION_PATH =
  /^\/(?:ogc\/(tiles|maps)|ogc\/(?:features|coverages)|stac)\/collections\/([^/?#]+)\/?(?:[?#].*)?$/;

function collectionNamed(baseUrl: string, catalog: CatalogSnapshot, name: string): Collection {
  if (/^\d+$/.test(name)) return findNumbered(catalog, Number(name));
  if (!/^https?:\/\//i.test(name)) return findCollection(catalog, name);
  const path = name.startsWith(`${baseUrl}/`) ? COLLECTION_PATH.exec(name.slice(baseUrl.length)) : null;
  if (!path) throw badParameter('collections', `'${name.slice(0, 60)}' is not a collection of this server`);
  const [, numbered, id] = path as unknown as [string, string | undefined, string];
  return numbered ? findNumbered(catalog, Number(id)) : findCollection(catalog, plainText(id));
}

export interface SurfaceMeta {
  surface: Operation['surface'];
  protocol: Operation['protocol'];
  /** Mount path. */
  path: string;
  /** Path of the landing page's operation; with a trailing slash where the contract writes one. */
  landingPath?: string;
  title: string;
  description: string;
  conformance: readonly string[];
  /** Paths of the OpenAPI document. */
  apiPaths: readonly string[];
  formats: readonly Format[];
  /** Links of the landing page beyond self, service-desc and conformance. */
  links(x: Exchange): Link[];
  /** Further members of the landing page. */
  members?(x: Exchange): Record<string, unknown>;
  landingPage(x: Exchange, document: LandingDocument): string;
  conformancePage(x: Exchange, document: { conformsTo: readonly string[]; links: Link[] }): string;
  /** The same two as XML, where `formats` offers that. */
  landingXml?(document: LandingDocument): string;
  conformanceXml?(document: { conformsTo: readonly string[]; links: Link[] }): string;
  /** OpenAPI document of the surface. */
  api(x: Exchange): unknown;
}

export interface LandingDocument {
  title: string;
  description: string;
  links: Link[];
}

/** The formats of a document other than JSON, for the description of a response. */
export function otherTypes(formats: readonly Format[]): Record<string, null> {
  const others = formats.filter((format) => format !== JSON_FORMAT);
  return Object.fromEntries(others.map((format) => [linkType(format), null]));
}

export const OPENAPI_TYPE = 'application/vnd.oai.openapi+json;version=3.0';

/** Landing page, conformance declaration and OpenAPI document, which every surface has. */
export function surfaceBasics(meta: SurfaceMeta): Operation[] {
  const common = {
    method: 'GET' as const,
    surface: meta.surface,
    protocol: meta.protocol,
    permission: 'public',
    tag: 'Capabilities',
  };
  const landing = defineOperation({
    ...common,
    id: `${meta.surface}.landing`,
    path: meta.landingPath ?? meta.path,
    summary: 'Landing page',
    formats: meta.formats,
    responses: {
      200: {
        description: 'Landing page',
        content: { 'application/json': LandingSchema, ...otherTypes(meta.formats) },
      },
    },
    run(x) {
      const document = landingDocument(meta, x);
      const xml = meta.landingXml && (() => meta.landingXml!(document));
      return documentReply(x, document, () => meta.landingPage(x, document), xml);
    },
  });
  const conformance = defineOperation({
    ...common,
    id: `${meta.surface}.conformance`,
    path: `${meta.path}/conformance`,
    summary: 'Conformance declaration',
    formats: meta.formats,
    responses: {
      200: {
        description: 'Conformance classes',
        content: { 'application/json': ConformanceSchema, ...otherTypes(meta.formats) },
      },
    },
    run(x) {
      const document = {
        conformsTo: meta.conformance,
        links: formatLinks(x, `${meta.path}/conformance`, meta.formats),
      };
      const xml = meta.conformanceXml && (() => meta.conformanceXml!(document));
      return documentReply(x, document, () => meta.conformancePage(x, document), xml);
    },
  });
  const apis = meta.apiPaths.map((path, i) =>
    defineOperation({
      ...common,
      id: `${meta.surface}.api${i === 0 ? '' : i + 1}`,
      path,
      summary: 'OpenAPI document',
      responses: {
        200: { description: 'OpenAPI 3.0 document', content: { [OPENAPI_TYPE]: Type.Object({}) } },
      },
      params: {
        f: {
          name: 'f',
          in: 'query',
          description: 'Only json.',
          schema: Type.String({ enum: ['json'] }),
          parse(raw: string | undefined) {
            if (raw !== undefined && raw !== 'json') throw badParameter('f', 'must be json');
            return raw;
          },
        },
      },
      run(x) {
        const body = JSON.stringify(meta.api(x));
        return {
          status: 200,
          mediaType: OPENAPI_TYPE,
          body,
          etag: contentTag(body),
          cacheControl: REVALIDATE,
        };
      },
    }),
  );
  return [landing, conformance, ...apis];
}

function landingDocument(meta: SurfaceMeta, x: Exchange): LandingDocument {
  const url = `${x.baseUrl}${meta.path}`;
  return {
    title: meta.title,
    description: meta.description,
    ...meta.members?.(x),
    links: [
      ...formatLinks(x, meta.landingPath ?? meta.path, meta.formats),
      {
        href: `${x.baseUrl}${meta.apiPaths[0]}`,
        rel: 'service-desc',
        type: OPENAPI_TYPE,
        title: 'API definition',
      },
      {
        href: `${x.baseUrl}/docs/${meta.surface}`,
        rel: 'service-doc',
        type: 'text/html',
        title: 'API reference',
      },
      { href: `${url}/conformance`, rel: 'conformance', type: 'application/json', title: 'Conformance' },
      ...meta.links(x),
    ],
  };
}

export const LandingSchema = Type.Object({
  title: Type.String(),
  description: Type.String(),
  links: Type.Array(LinkSchema),
});

const ConformanceSchema = Type.Object({ conformsTo: Type.Array(Type.String()) });
