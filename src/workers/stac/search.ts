import type { ItemsTask } from '../../core/features.js';
import { LIMITS } from '../../core/limits.js';
import {
  HIDDEN,
  STAC_BASE,
  type StacFile,
  type StacFileTask,
  type StacSearchResult,
  type StacSearchTask,
} from '../../core/stac.js';
import { statement } from '../providers/geopackage/connection.js';
import { count, items } from '../providers/geopackage/items.js';
import { selected } from './fields.js';
import { indexExists, indexSource } from './items-table.js';

const EMPTY: StacSearchResult = {
  items: new Uint8Array(0),
  returned: 0,
  more: false,
  precedes: false,
  matched: 0,
};

/** Task `vector.stacSearch`: a page of items. */
export function stacSearch(task: StacSearchTask): StacSearchResult {
  if (!indexExists(task.path)) return EMPTY;
  const query = queryOf(task);
  const start = task.before ? startBefore(query, task) : undefined;
  const place = start
    ? start.place
    : { offset: task.offset ?? 0, ...(task.after ? { after: task.after } : {}) };
  const page = items({ ...query, ...place, fields: [HIDDEN.item] });
  const found = JSON.parse(`[${Buffer.from(page.features).toString()}]`) as Found[];
  const written = found.map(({ properties }) =>
    JSON.stringify(selected(linked(properties[HIDDEN.item]), task)),
  );
  const precedes = start ? start.precedes : task.after !== undefined || place.offset > 0;
  const whole = !page.more && !precedes;
  const matched = whole ? page.returned : matches(query, task);
  return {
    items: Buffer.from(atOrigin(written.join(','), task.base)),
    returned: page.returned,
    more: page.more,
    precedes,
    ...(page.first ? { first: page.first } : {}),
    ...(page.last ? { last: page.last } : {}),
    ...(matched === undefined ? {} : { matched }),
  };
}

type Json = Record<string, unknown>;

interface Found {
  properties: { [HIDDEN.item]: Json };
}

/** An item with the links that every item of the server has, before its own. */
function linked(item: Json): Json {
  const collection = `${STAC_BASE}/stac/collections/${encodeURIComponent(String(item['collection']))}`;
  const json = 'application/json';
  const own = [
    {
      rel: 'self',
      href: `${collection}/items/${encodeURIComponent(String(item['id']))}`,
      type: 'application/geo+json',
    },
    { rel: 'parent', href: collection, type: json },
    { rel: 'collection', href: collection, type: json },
    { rel: 'root', href: `${STAC_BASE}/stac`, type: json },
  ];
  return { ...item, links: [...own, ...((item['links'] as object[] | undefined) ?? [])] };
}

function queryOf({ path, fields, filter, sort, limit }: StacSearchTask): ItemsTask {
  const hidden = [
    { name: HIDDEN.start, type: 'integer', nullable: true },
    { name: HIDDEN.end, type: 'integer', nullable: true },
    { name: HIDDEN.item, type: 'json', nullable: false },
  ] as const;
  return {
    source: indexSource(path, [...fields, ...hidden]),
    ...(filter === undefined ? {} : { filter }),
    ...(sort && sort.length > 0 ? { sort } : {}),
    format: 'geojson',
    crs: 'OGC:CRS84',
    swapAxes: false,
    precision: 7,
    skipGeometry: true,
    limit,
    offset: 0,
    maxBytes: LIMITS.stacPageBytes,
  };
}

/** Where the page that ends just before a key begins. */
function startBefore(query: ItemsTask, { before, limit }: StacSearchTask) {
  const found = items({ ...query, before: before!, limit: limit + 1, fields: [] });
  const precedes = found.returned > limit;
  return { precedes, place: { offset: 0, ...(precedes ? { after: found.first! } : {}) } };
}

function matches({ source, filter }: ItemsTask, { count: atMost }: StacSearchTask): number | undefined {
  if (atMost === undefined) return undefined;
  const found = count({ source, ...(filter === undefined ? {} : { filter }), atMost: atMost + 1 });
  return found <= atMost ? found : undefined;
}

/** Hrefs below the origin that the client knows the server by. */
function atOrigin(text: string, base: string): string {
  return text.replaceAll(`"${STAC_BASE}/`, `"${JSON.stringify(base).slice(1, -1)}/`);
}

/** Task `vector.stacFile`. */
export function stacFile({ path, collection, item, asset }: StacFileTask): StacFile | null {
  if (!indexExists(path)) return null;
  const sql = `SELECT "${HIDDEN.files}" FROM items WHERE collection = ? AND id = ?`;
  const files = statement(path, sql).pluck().get(collection, item) as string | null | undefined;
  if (!files) return null;
  const known = JSON.parse(files) as Record<string, StacFile>;
  return Object.hasOwn(known, asset) ? known[asset]! : null;
}
