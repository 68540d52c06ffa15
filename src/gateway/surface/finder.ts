import Type from 'typebox';
import type { Collection } from '../../core/catalog/collection.js';
import { badParameter } from '../../core/errors/errors.js';
import type { Box } from '../../core/geometry/box.js';
import { HTML_FORMAT, XML_FORMAT } from '../../core/http/media.js';
import type { Exchange, Param, Reply } from '../../core/http/operation.js';
import {
  COLLECTION_KINDS,
  type CollectionKind,
  type CollectionOrder,
  ORDERS,
  searchCollections,
} from '../../services/catalog/collection-search.js';
import type { RegionBoxes } from '../../services/exchange/places.js';
import { type Finder, type ListLayout, VIEWS } from '../pages/catalog/finder.js';
import * as pages from '../pages/index.js';
import { documentReply, type Link, replyWithJsonText } from './common.js';
import type { MemberTexts } from './member-texts.js';

/** Collections on one page. */
const PAGE = 48;
const MAX_WORDS = 10;
const MAX_TEXT = 200;

function text(name: string, description: string): Param<string | undefined> {
  return {
    name,
    in: 'query',
    description,
    schema: Type.String({ maxLength: MAX_TEXT }),
    parse(raw) {
      if (raw !== undefined && raw.length > MAX_TEXT)
        throw badParameter(name, `must have at most ${MAX_TEXT} characters`);
      return raw?.trim() || undefined;
    },
  };
}

function choice<T extends string>(name: string, values: readonly T[], about: string): Param<T | undefined> {
  return {
    name,
    in: 'query',
    description: about,
    schema: Type.String({ enum: [...values, ''] }),
    parse(raw) {
      if (raw === undefined || raw === '') return undefined;
      if (!(values as readonly string[]).includes(raw))
        throw badParameter(name, `must be one of ${values.join(', ')}`);
      return raw as T;
    },
  };
}

const page: Param<number> = {
  name: 'page',
  in: 'query',
  description: 'Page of the HTML list, from 1. Documents are not paged.',
  schema: Type.Integer({ minimum: 1, default: 1 }),
  parse(raw) {
    if (raw === undefined) return 1;
    if (!/^[1-9]\d{0,6}$/.test(raw)) throw badParameter('page', 'must be an integer from 1 to 9999999');
    return Number(raw);
  },
};

/** Search parameters of a list of collections. */
export const finderParams = {
  q: text('q', 'Words in names, titles, descriptions, attributes or sources.'),
  kind: choice('kind', COLLECTION_KINDS, 'Kind of data.'),
  place: text('place', 'Where the data is: a country or region by name, or west,south,east,north.'),
  sort: choice('sort', ORDERS, 'Order of the list.'),
  view: choice('view', VIEWS, 'How the HTML page lists the collections. Default: cards.'),
  page,
};

export interface FinderParams {
  q: string | undefined;
  kind: CollectionKind | undefined;
  place: string | undefined;
  sort: CollectionOrder | undefined;
  view: ListLayout | undefined;
  page: number;
}

/** The results of a search, and the requested page of them. */
export function find(
  x: { params: FinderParams; path: string },
  places: RegionBoxes,
  collections: readonly Collection[],
): Finder {
  const { q, kind, place, sort = 'source', view = 'cards', page } = x.params;
  const boxes = place === undefined ? undefined : listBoxes(place, places);
  const result = searchCollections(collections, buildSearch(x.params, boxes));
  const last = Math.max(1, Math.ceil(result.length / PAGE));
  const at = Math.min(page, last);
  return {
    search: { q, kind, place, sort, view },
    placeIsKnown: place === undefined || boxes !== undefined,
    published: collections,
    total: result.length,
    hits: result.slice((at - 1) * PAGE, at * PAGE),
    page: at,
    last,
    path: x.path,
  };
}

/** The search conditions. An unknown place has no results. */
function buildSearch({ q, kind, place, sort = 'source' }: FinderParams, boxes: readonly Box[] | undefined) {
  return {
    words: splitSearchWords(q),
    kind,
    boxes: place === undefined ? undefined : (boxes ?? []),
    order: sort,
  };
}

/**
 * The collections in a document: all, or the results of the search. Throws 400 for an unknown place, and for `page`,
 * because documents have no pages.
 */
export function chosenCollections(
  params: FinderParams,
  places: RegionBoxes,
  collections: readonly Collection[],
): readonly Collection[] {
  const { q, kind, place, sort, view, page } = params;
  if (view !== undefined) throw badParameter('view', 'is only for the HTML page. Add f=html');
  if (page !== 1) throw badParameter('page', 'is only for the HTML page. Add f=html');
  if ([q, kind, place, sort].every((term) => term === undefined)) return collections;
  const boxes = place === undefined ? undefined : listBoxes(place, places);
  if (place !== undefined && !boxes)
    throw badParameter(
      'place',
      `'${place.slice(0, 60)}' is not a country or region of Natural Earth. Send the name of a country or region, or west,south,east,north`,
    );
  return searchCollections(collections, buildSearch(params, boxes)).map(({ collection }) => collection);
}

/** The words of a search. */
export function splitSearchWords(q = ''): string[] {
  return q.split(/\s+/).filter(Boolean).slice(0, MAX_WORDS);
}

function listBoxes(place: string, places: RegionBoxes): readonly Box[] | undefined {
  const numbers = place.split(',').map(Number);
  if (numbers.length === 4 && numbers.every(Number.isFinite)) return [numbers as unknown as Box];
  return places.find(place);
}

/** Contents of a list of collections. */
interface CollectionList<C extends Collection, M> {
  readonly texts: MemberTexts;
  readonly links: readonly Link[];
  describe(collection: C): M;
  xml?(document: { collections: readonly M[]; links: readonly Link[] }): string;
}

/** A list of collections that may be searched: a document, or as HTML a page of several. */
export function collectionsReply<
  C extends Collection,
  M extends pages.CollectionsDocument['collections'][number],
>(
  x: Exchange<typeof finderParams>,
  places: RegionBoxes,
  collections: readonly C[],
  { texts, links, describe, xml }: CollectionList<C, M>,
): Reply {
  const document = (of: readonly Collection[]) => ({ collections: (of as C[]).map(describe), links });
  if (x.format === HTML_FORMAT) {
    const finder = find(x, places, collections);
    const body = document(finder.hits.map(({ collection }) => collection));
    return documentReply(x, body, () => pages.buildCollectionsPage(x, body, finder));
  }
  const chosen = chosenCollections(x.params, places, collections);
  if (x.format !== XML_FORMAT)
    return replyWithJsonText(x, texts.write(x.baseUrl, chosen as C[], describe, { links }));
  const whole = document(chosen);
  return documentReply(x, whole, () => '', xml && (() => xml(whole)));
}
