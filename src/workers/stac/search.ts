import type { ItemsResult, ItemsTask } from '../../core/features/features.js';
import type { GeoPackageSource } from '../../core/sources/vector-source.js';
import { STAC_LIMITS } from '../../core/stac/limits.js';
import {
  HIDDEN,
  STAC_BASE,
  type StacFile,
  type StacFileTask,
  type StacSearchResult,
  type StacSearchTask,
} from '../../core/stac/stac.js';
import { statement } from '../providers/geopackage/connection.js';
import { count, items } from '../providers/geopackage/queries/items.js';
import { readPageKey } from '../providers/geopackage/queries/order.js';
import { selectMembers } from './fields.js';
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
  const query = buildQuery(task);
  const start = task.before ? startBefore(query, task) : undefined;
  const place = start
    ? start.place
    : { offset: task.offset ?? 0, ...(task.after ? { after: task.after } : {}) };
  const page = items({ ...query, ...place, fields: [] });
  const { texts, last } = parseTexts(page, task);
  const cut = texts.length < page.returned;
  const precedes = start ? start.precedes : task.after !== undefined || place.offset > 0;
  const whole = !page.more && !precedes && !cut;
  const matched = whole ? page.returned : matches(query, task);
  const lastKey =
    cut && last !== undefined ? readPageKey(query.source as GeoPackageSource, task.sort, last) : page.last;
  return {
    items: Buffer.from(atOrigin(texts.join(','), task.base)),
    returned: texts.length,
    more: page.more || cut,
    precedes,
    ...(page.first ? { first: page.first } : {}),
    ...(lastKey ? { last: lastKey } : {}),
    ...(matched === undefined ? {} : { matched }),
  };
}

/** Returns the items of a page as written, up to the maximum size of a page, and the row of the last item. */
function parseTexts(
  { features }: ItemsResult,
  task: StacSearchTask,
): { texts: string[]; last: string | undefined } {
  const rows = JSON.parse(`[${Buffer.from(features).toString()}]`) as { id: number }[];
  const stored = statement(task.path, 'SELECT item FROM item_texts WHERE row = ?').pluck();
  const isSelection = task.include !== undefined || task.exclude !== undefined;
  const texts: string[] = [];
  let size = 0;
  let last: string | undefined;
  for (const { id } of rows) {
    if (size > STAC_LIMITS.stacPageBytes) break;
    const text = stored.get(id) as string;
    const lines = isSelection
      ? JSON.stringify(selectMembers(JSON.parse(text) as Record<string, unknown>, task))
      : text;
    size += lines.length;
    texts.push(lines);
    last = String(id);
  }
  return { texts, last };
}

function buildQuery({ path, fields, filter, sort, limit }: StacSearchTask): ItemsTask {
  const hidden = [
    { name: HIDDEN.start, type: 'integer', nullable: true },
    { name: HIDDEN.end, type: 'integer', nullable: true },
  ] as const;
  return {
    source: indexSource(path, [...fields, ...hidden]),
    filter,
    ...(sort && sort.length > 0 ? { sort } : {}),
    format: 'geojson',
    crs: 'OGC:CRS84',
    swapAxes: false,
    precision: 7,
    skipGeometry: true,
    limit,
    offset: 0,
  };
}

/** Returns the start of the page that ends before a key. */
function startBefore(query: ItemsTask, { before, limit }: StacSearchTask) {
  const page = items({ ...query, before: before!, limit: limit + 1, fields: [] });
  const precedes = page.returned > limit;
  return { precedes, place: { offset: 0, ...(precedes ? { after: page.first! } : {}) } };
}

function matches({ source, filter }: ItemsTask, { count: atMost }: StacSearchTask): number | undefined {
  if (atMost === undefined) return undefined;
  const total = count({ source, filter, atMost: atMost + 1 });
  return total <= atMost ? total : undefined;
}

/** Hrefs below the origin that the client knows the server by. */
function atOrigin(text: string, base: string): string {
  return text.replaceAll(`"${STAC_BASE}/`, `"${JSON.stringify(base).slice(1, -1)}/`);
}

/** Task `vector.stacFile`. */
export function stacFile({ path, collection, item, asset }: StacFileTask): StacFile | null {
  if (!indexExists(path)) return null;
  const sql = `SELECT files FROM item_texts
    WHERE row = (SELECT "${HIDDEN.row}" FROM items WHERE collection = ? AND id = ?)`;
  const files = statement(path, sql).pluck().get(collection, item) as string | null | undefined;
  if (!files) return null;
  const byName = JSON.parse(files) as Record<string, StacFile>;
  return Object.hasOwn(byName, asset) ? byName[asset]! : null;
}
