import Type, { type Static } from 'typebox';
import { findCollection } from '../../core/catalog/find.js';
import { badParameter, notFound } from '../../core/errors/errors.js';
import { GEOJSON_FORMAT, HTML_FORMAT } from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { parseBox } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { STAC_LIMITS } from '../../core/stac/limits.js';
import { resolveCrs } from '../../native/crs.js';
import { parseDatetime } from './datetime.js';
import { itemCollection, oneItem, type PageLinks, pageHref } from './item-collection.js';
import { itemPageReply, itemsPageReply, PAGE_ITEMS } from './item-pages.js';
import {
  itemId,
  itemsQuery,
  SearchBody,
  STAC_OPERATION,
  STAC_PATH,
  type StacDeps,
  searchQuery,
  stacCollectionParam,
} from './params.js';
import { type AskedSearch, createSearchTask, requireLanguage } from './search.js';

const ITEMS = {
  formats: [GEOJSON_FORMAT, HTML_FORMAT],
  responses: {
    200: { description: 'ItemCollection', content: { 'application/geo+json': Type.Object({}) } },
    400: { description: 'A parameter is wrong' },
  },
} as const;

/** Items and item search (STAC API 1.0.0; OGC 17-069r4, 7.15). */
export function createStacItemOperations(deps: StacDeps): Operation[] {
  const search = (x: Exchange, query: AskedSearch, links: PageLinks) => searchItems(deps, x, query, links);
  return [
    defineOperation({
      ...STAC_OPERATION,
      ...ITEMS,
      method: 'GET',
      id: 'stac.getItems',
      path: `${STAC_PATH}/collections/{collectionId}/items`,
      summary: 'Items of a collection',
      tag: 'Items',
      params: { collectionId: stacCollectionParam, ...itemsQuery, collections: searchQuery.collections },
      responses: { ...ITEMS.responses, 404: { description: 'No such collection' } },
      run(x) {
        const { collectionId: id, collections, ...query } = x.params;
        const collection = findCollection(deps.visible(x.principal), id);
        // pystac-client names the collection once more.
        if (collections && (collections.length > 1 || collections[0] !== collection.id))
          throw badParameter('collections', `must be ${collection.id}, the collection of the path`);
        const read = (limit: number) =>
          search(x, { ...query, limit, filterLang: 'cql2-text', collections: [collection.id] }, (place) =>
            collectionLinks(x, collection.id, { ...query, limit }, place.result),
          );
        if (x.format !== HTML_FORMAT) return read(query.limit);
        return read(Math.min(query.limit, PAGE_ITEMS)).then((reply) =>
          itemsPageReply(x, reply, [], collection),
        );
      },
    }),
    defineOperation({
      ...STAC_OPERATION,
      method: 'GET',
      id: 'stac.getItem',
      path: `${STAC_PATH}/collections/{collectionId}/items/{itemId}`,
      summary: 'One item',
      tag: 'Items',
      params: { collectionId: stacCollectionParam, itemId },
      formats: [GEOJSON_FORMAT, HTML_FORMAT],
      responses: {
        200: { description: 'Item', content: { 'application/geo+json': Type.Object({}) } },
        404: { description: 'No such collection or item' },
      },
      async run(x) {
        const visible = deps.visible(x.principal);
        const collection = findCollection(visible, x.params.collectionId);
        const query: AskedSearch = {
          collections: [collection.id],
          ids: [x.params.itemId],
          limit: 1,
          offset: 0,
          filterLang: 'cql2-text',
        };
        const place = { path: deps.stac.path, base: x.baseUrl };
        const { count: _, ...task } = createSearchTask(
          visible,
          await deps.stac.of(deps.catalog()),
          query,
          place,
        );
        const item = await oneItem(x, deps.pools, task);
        if (!item) throw notFound('item', x.params.itemId.slice(0, 100));
        return x.format === HTML_FORMAT ? itemPageReply(x, item, collection) : item;
      },
    }),
    defineOperation({
      ...STAC_OPERATION,
      ...ITEMS,
      method: 'GET',
      id: 'stac.search',
      path: `${STAC_PATH}/search`,
      summary: 'Item search',
      tag: 'Search',
      params: searchQuery,
      run: async (x) => {
        if (x.format !== HTML_FORMAT) return search(x, x.params, (place) => getLinks(x, place));
        const { fields: _, limit, ...query } = x.params;
        const shown = { ...query, limit: Math.min(limit, PAGE_ITEMS) };
        const reply = await search(x, shown, (place) => getLinks(x, place));
        return itemsPageReply(x, reply, deps.visible(x.principal).collections);
      },
    }),
    defineOperation({
      ...STAC_OPERATION,
      ...ITEMS,
      method: 'POST',
      id: 'stac.postSearch',
      path: `${STAC_PATH}/search`,
      summary: 'Item search',
      tag: 'Search',
      formats: [GEOJSON_FORMAT],
      body: {
        schema: SearchBody,
        mediaTypes: ['application/json', 'application/geo+json'],
        required: true,
        exactMembers: ['filter'],
        maxBytes: LIMITS.searchBytes,
        bounds: { depth: LIMITS.searchDepth, values: LIMITS.searchValues },
      },
      run(x) {
        const body = x.body as Body;
        return search(x, askedBy(body), (place) => postLinks(x, body, place));
      },
    }),
  ];
}

/** Items that match a query, as an ItemCollection. */
export async function searchItems(
  deps: StacDeps,
  x: Exchange,
  query: AskedSearch,
  links: PageLinks,
): Promise<Reply> {
  const queryables = await deps.stac.of(deps.catalog());
  const place = { path: deps.stac.path, base: x.baseUrl };
  const task = createSearchTask(deps.visible(x.principal), queryables, query, place);
  return itemCollection(x, deps.pools, task, links);
}

type Body = Static<typeof SearchBody>;

function askedBy(body: Body): AskedSearch {
  const { bbox, datetime, fields, sortby, filter, limit = STAC_LIMITS.stacDefault, offset = 0 } = body;
  const language = body['filter-lang'] ?? 'cql2-json';
  requireLanguage(filter, language);
  const crs = body['filter-crs'];
  return {
    limit: Math.min(limit, STAC_LIMITS.stacMax),
    offset,
    token: body.token,
    ids: listed(body.ids),
    collections: listed(body.collections),
    bbox: bbox && parseBox('bbox', bbox.join(',')),
    intersects: body.intersects,
    datetime: datetime === undefined ? undefined : parseDatetime(datetime),
    fields: fields && fieldsBy(fields),
    sortby: sortby?.map(({ field, direction = 'asc' }) => ({ field, direction })),
    filter,
    filterLang: language,
    filterCrs: crs === undefined ? undefined : resolveCrs('filter-crs', crs),
  };
}

const listed = (names: string | string[] | undefined) => (typeof names === 'string' ? [names] : names);

/** A list that is null is an empty one. */
function fieldsBy({ include, exclude }: NonNullable<Body['fields']>) {
  const fields = include === undefined ? {} : { include: include ?? [] };
  return { ...fields, exclude: exclude ?? [] };
}

/** Pages of a collection are numbered: the contract has no token there. */
function collectionLinks(
  x: Exchange,
  id: string,
  { limit, offset }: { limit: number; offset: number },
  { more, returned }: { more: boolean; returned: number },
): ReturnType<PageLinks> {
  const collection = `${x.baseUrl}${STAC_PATH}/collections/${id}`;
  const to = (rel: string, href: string, type = 'application/geo+json') => ({ rel, href, type });
  return [
    to('self', x.query ? `${collection}/items?${x.query}` : `${collection}/items`),
    to('collection', collection, 'application/json'),
    to('parent', collection, 'application/json'),
    ...(more ? [to('next', pageHref(x, `offset=${offset + returned}`))] : []),
    ...(offset > 0 ? [to('prev', pageHref(x, `offset=${Math.max(0, offset - limit)}`))] : []),
  ];
}

const getLinks = (x: Exchange, { next, prev }: Parameters<PageLinks>[0]): ReturnType<PageLinks> => {
  const to = (rel: string, token: string) => ({
    rel,
    href: pageHref(x, `token=${token}`),
    type: 'application/geo+json',
    method: 'GET',
  });
  return [
    { rel: 'self', href: `${x.baseUrl}${x.path}${x.query && `?${x.query}`}`, type: 'application/geo+json' },
    ...(next ? [to('next', next)] : []),
    ...(prev ? [to('prev', prev)] : []),
  ];
};

const postLinks = (
  x: Exchange,
  body: Body,
  { next, prev }: Parameters<PageLinks>[0],
): ReturnType<PageLinks> => {
  const { offset: _, ...rest } = body;
  const to = (rel: string, token: string) => ({
    rel,
    href: `${x.baseUrl}${x.path}`,
    type: 'application/geo+json',
    method: 'POST',
    body: { ...rest, token },
    merge: false,
  });
  return [...(next ? [to('next', next)] : []), ...(prev ? [to('prev', prev)] : [])];
};
