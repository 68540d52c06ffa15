import type { Collection } from '../../core/catalog/collection.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { hasItems } from '../../services/stac/footprints.js';
import { sitePath } from '../pages/layout.js';
import type { PageLink } from '../pages/links.js';
import { createPageReply } from '../pages/page-reply.js';
import { stacItemPage } from '../pages/stac/item.js';
import { type ItemList, stacItemsPage } from '../pages/stac/items.js';
import { type ItemDocument, stacTitle } from '../pages/stac/model.js';
import { readsWhole, STAC_PATH } from './params.js';

/** Maximum number of items on a page. */
export const PAGE_ITEMS = 100;

interface ItemsDocument {
  readonly features: readonly ItemDocument[];
  readonly links: readonly PageLink[];
  readonly numberMatched?: number;
}

/** The items of a JSON reply. */
export function readItemList(
  x: Exchange,
  path: string,
  query: string,
  reply: Reply,
): ItemList & { links: readonly PageLink[] } {
  const { features, links, numberMatched } = JSON.parse(String(reply.body)) as ItemsDocument;
  const parameters = new URLSearchParams(query);
  parameters.set('f', 'json');
  return {
    items: features,
    matched: numberMatched,
    geoJsonHref: `${x.baseUrl}${path}?${parameters}`,
    links,
  };
}

/** The page of a search, or of the items of a collection. */
export function itemsPageReply(
  x: Exchange,
  reply: Reply,
  collections: readonly Collection[],
  only?: Collection,
): Reply {
  const { links, ...list } = readItemList(x, x.path, x.query, reply);
  const values = new URLSearchParams(x.query);
  const json: PageLink = { href: list.geoJsonHref, rel: 'alternate', type: 'application/geo+json' };
  const choice = collections.filter((one) => hasItems(one) && readsWhole(one));
  const page = stacItemsPage(x, {
    ...list,
    title: only ? `${stacTitle(only)}: items` : 'Search items',
    lead: only
      ? 'Items of the collection, with their footprints.'
      : 'Items of all collections by area, time and properties.',
    links: [json, ...links],
    form: {
      action: `${sitePath(x.baseUrl)}${x.path}`,
      values,
      collections: only ? undefined : choice.map((one) => ({ id: one.id, title: stacTitle(one) })),
    },
    ...(only ? { titles: { [only.id]: stacTitle(only) } } : {}),
  });
  return createPageReply(page);
}

/** The page of one item. */
export function itemPageReply(x: Exchange, reply: Reply, collection: Collection): Reply {
  const item = JSON.parse(Buffer.from(reply.body as Uint8Array).toString()) as ItemDocument;
  const page = stacItemPage(x, { item, collection });
  return { ...createPageReply(page), etag: contentTag(page) };
}

/** Path of the items of a collection. */
export const itemsPath = ({ id }: Collection) => `${STAC_PATH}/collections/${encodeURIComponent(id)}/items`;
