import type { VectorCollection } from '../../../core/collection.js';
import type { Expression } from '../../../core/cql2/ast.js';
import { CRS84, type Crs, coordinatePrecision, normaliseBox } from '../../../core/crs.js';
import { ApiError, badParameter, notFound } from '../../../core/errors.js';
import type { ItemsResult } from '../../../core/features.js';
import { type Format, GEOJSON_FORMAT, HTML_FORMAT } from '../../../core/media.js';
import type { Exchange, Reply } from '../../../core/operation.js';
import type { Box, Pools } from '../../../core/tasks.js';
import { runTask } from '../../services/run-task.js';
import { contentTag, formatLinks, type Link, withQuery } from '../common.js';
import { FEATURES_PATH } from './documents.js';
import { itemTag } from './item-tag.js';

/** Features in an HTML page when no limit is asked for: a page is read by eyes. */
const HTML_PAGE = 50;

const later = (name: string, mediaType: string): Format => ({ name, mediaType });

/** Every representation of features. */
export const ITEM_FORMATS: readonly Format[] = [
  GEOJSON_FORMAT,
  HTML_FORMAT,
  later('gml', 'application/gml+xml;version=3.2'),
  later('xml', 'application/xml'),
  later('csv', 'text/csv; charset=utf-8'),
];

/** Formats that are built; the contract names more, which answer 501. */
export const LINKED_FORMATS: readonly Format[] = [GEOJSON_FORMAT, HTML_FORMAT];

export interface ItemsQuery {
  limit: number;
  /** True when the client named a limit. */
  limitGiven: boolean;
  offset: number;
  bbox: Box | undefined;
  bboxCrs: Crs | undefined;
  crs: Crs | undefined;
}

export interface ItemsPage {
  collection: VectorCollection;
  links: Link[];
  numberMatched: number | undefined;
  numberReturned: number;
  limit: number;
  offset: number;
  timeStamp: string;
  crs: Crs;
  result: ItemsResult;
}

/** Output CRS: one that the collection advertises (OGC 18-058r1, requirement 13). */
export function outputCrs(collection: VectorCollection, asked: Crs | undefined): Crs {
  if (!asked) return CRS84;
  const known = collection.crs.find((crs) => crs.uri === asked.uri);
  if (!known) throw badParameter('crs', `is not offered by this collection; see its crs list`);
  return known;
}

/** Reads one page of a collection. Counts exactly where the index answers, never by reading the table. */
export async function readItems(
  x: Exchange,
  pools: Pools,
  collection: VectorCollection,
  query: ItemsQuery,
): Promise<ItemsPage> {
  const crs = outputCrs(collection, query.crs);
  const bboxCrs = query.bboxCrs ?? CRS84;
  const bbox = query.bbox && normaliseBox('bbox', query.bbox, bboxCrs);
  const page = x.format === HTML_FORMAT;
  const limit = page && !query.limitGiven ? HTML_PAGE : query.limit;
  const { source } = collection;
  const filter: Expression | undefined = bbox && {
    op: 's_intersects',
    args: [{ property: source.geometryColumn }, { bbox, crs: bboxCrs.proj }],
  };
  const window = { source, filter };
  const [result, numberMatched] = await Promise.all([
    runTask(x, pools, 'vector.items', {
      ...window,
      format: 'geojson',
      limit,
      offset: query.offset,
      crs: crs.proj,
      swapAxes: crs.northFirst,
      precision: coordinatePrecision(crs),
      skipGeometry: page,
    }),
    bbox ? runTask(x, pools, 'vector.count', window) : collection.featureCount,
  ]);
  return {
    collection,
    links: itemsLinks(x, collection, { limit, offset: query.offset, more: result.more }),
    numberMatched,
    numberReturned: result.returned,
    limit,
    offset: query.offset,
    timeStamp: new Date().toISOString(),
    crs,
    result,
  };
}

function itemsLinks(
  x: Exchange,
  collection: VectorCollection,
  page: { limit: number; offset: number; more: boolean },
): Link[] {
  const path = `${FEATURES_PATH}/collections/${collection.id}/items`;
  const links = formatLinks(x, path, LINKED_FORMATS, x.query);
  const to = (offset: number) => {
    const kept = x.query.split('&').filter((part) => !/^(offset|limit|f)=/.test(part) && part !== '');
    const query = [...kept, `limit=${page.limit}`, `offset=${offset}`].join('&');
    return {
      href: withQuery(`${x.baseUrl}${path}`, query, x.format.name),
      type: x.format.mediaType.split(';')[0],
    };
  };
  if (page.more) links.push({ ...to(page.offset + page.limit), rel: 'next', title: 'Next page' });
  if (page.offset > 0)
    links.push({ ...to(Math.max(0, page.offset - page.limit)), rel: 'prev', title: 'Previous page' });
  links.push({
    href: `${x.baseUrl}${FEATURES_PATH}/collections/${collection.id}`,
    rel: 'collection',
    type: 'application/json',
    title: collection.title,
  });
  return links;
}

const TAIL = Buffer.from(']}');

/** The page as GeoJSON: the features were written by the store, only head and tail are added. */
export function geoJsonReply(page: ItemsPage, format: Format): Reply {
  const head = {
    type: 'FeatureCollection',
    numberMatched: page.numberMatched,
    numberReturned: page.numberReturned,
    links: page.links,
  };
  const tag = `W/${contentTag(`${contentTag(page.result.features)}${JSON.stringify(head)}`)}`;
  const text = JSON.stringify({ ...head, timeStamp: page.timeStamp });
  const body = Buffer.concat([Buffer.from(`${text.slice(0, -1)},"features":[`), page.result.features, TAIL]);
  return {
    status: 200,
    mediaType: format.mediaType,
    body,
    etag: tag,
    cacheControl: 'no-cache',
    headers: { 'content-crs': `<${page.crs.uri}>` },
  };
}

/** Id and properties of each feature of a page read without geometry. */
export function featureRows(page: ItemsPage): { id: string | number; properties: Record<string, unknown> }[] {
  return JSON.parse(`[${Buffer.from(page.result.features).toString('utf8')}]`);
}

/** One feature as GeoJSON text, with its links. Throws 404. */
export async function readItem(
  x: Exchange,
  pools: Pools,
  collection: VectorCollection,
  id: string,
  asked: Crs | undefined,
) {
  const crs = outputCrs(collection, asked);
  const feature = await runTask(x, pools, 'vector.item', {
    format: 'geojson',
    source: collection.source,
    id,
    crs: crs.proj,
    swapAxes: crs.northFirst,
    precision: coordinatePrecision(crs),
  });
  if (!feature) throw notFound('feature', id.slice(0, 100));
  const path = `${FEATURES_PATH}/collections/${collection.id}`;
  const links: Link[] = [
    ...formatLinks(x, `${path}/items/${encodeURIComponent(id)}`, LINKED_FORMATS, x.query),
    { href: `${x.baseUrl}${path}`, rel: 'collection', type: 'application/json', title: collection.title },
  ];
  const tag = itemTag(feature.row, x.format, crs);
  const text = Buffer.from(feature.data).toString('utf8');
  return { crs, links, tag, text: `${text.slice(0, -1)},"links":${JSON.stringify(links)}}` };
}

/** Only vector collections have items. */
export function asVector(collection: { kind: string; id: string }): asserts collection is VectorCollection {
  if (collection.kind !== 'vector') throw notFound('feature collection', collection.id);
}

export function formatNotBuilt(format: string): ApiError {
  return new ApiError('not-implemented', `Features as ${format.toUpperCase()} are not built yet.`);
}
