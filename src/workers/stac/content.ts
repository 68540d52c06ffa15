import { TaskFailure } from '../../core/errors/failure.js';
import { computeEnvelope } from '../../core/geometry/box.js';
import type { GeoPackageSource } from '../../core/sources/vector-source.js';
import {
  STAC_ASSET,
  STAC_BASE,
  type StacContent,
  type StacFile,
  type StacItem,
  type StacPart,
} from '../../core/stac/stac.js';
import { quote, reader } from '../providers/geopackage/connection.js';
import { getFeatureStore } from '../providers/store.js';
import { parseDateTimeMs } from './columns.js';

/** An item on its way into the index. */
export interface IndexedItem {
  item: StacItem;
  /** Local files by the name of their asset. */
  files?: Record<string, StacFile>;
}

/** Features of one collection that become items. */
const MAX_FOOTPRINTS = 10_000;

export async function listPartItems({ collection, content }: StacPart): Promise<Iterable<IndexedItem>> {
  switch (content.kind) {
    case 'items':
      return content.items.map((item) => ({ item }));
    case 'footprints':
      return footprints(collection, content);
    case 'ingested':
      return ingested(collection, content);
  }
}

type Footprints = Extract<StacContent, { kind: 'footprints' }>;

async function footprints(collection: string, { source, temporal }: Footprints): Promise<IndexedItem[]> {
  const { features } = await getFeatureStore(source).items({
    source,
    filter: undefined,
    format: 'geojson',
    crs: 'OGC:CRS84',
    swapAxes: false,
    precision: 7,
    limit: MAX_FOOTPRINTS,
    offset: 0,
  });
  const parsed = JSON.parse(`[${Buffer.from(features).toString()}]`) as Feature[];
  return parsed.flatMap((feature) => {
    const item = getItem(collection, feature, temporal);
    return item ? [{ item }] : [];
  });
}

interface Feature {
  id: string | number;
  geometry: object | null;
  properties: Record<string, unknown>;
}

/** A feature as an item; undefined without a position or an instant, which items must have. */
function getItem(
  collection: string,
  { id, geometry, properties }: Feature,
  temporal: string,
): StacItem | undefined {
  const value = properties[temporal];
  const datetime = typeof value === 'string' && value.length === 10 ? `${value}T00:00:00Z` : value;
  const bbox = computeEnvelope(geometry);
  if (!geometry || !bbox || parseDateTimeMs(datetime) === undefined) return undefined;
  const { [temporal]: _, ...others } = properties;
  const feature = `${STAC_BASE}/ogc/features/collections/${collection}/items/${encodeURIComponent(String(id))}`;
  return {
    type: 'Feature',
    stac_version: '1.0.0',
    stac_extensions: [],
    id: String(id),
    collection,
    geometry,
    bbox,
    properties: { datetime, ...others },
    links: [],
    assets: {
      feature: { href: `${feature}?f=json`, type: 'application/geo+json', title: 'Feature', roles: ['data'] },
    },
  };
}

type IngestContent = Extract<StacContent, { kind: 'ingested' }>;

function* ingested(collection: string, { source }: IngestContent): Generator<IndexedItem> {
  const sql = `SELECT stac_item AS text, stac_files AS files FROM ${quote(source.table)} ORDER BY ${quote(source.idColumn)}`;
  const rows = reader((source as GeoPackageSource).path)
    .prepare(sql)
    .iterate() as IterableIterator<{
    text: string;
    files: string | null;
  }>;
  for (const { text, files } of rows) {
    const item = ownItem(collection, parseItem(text));
    yield files === null ? { item } : { item, files: JSON.parse(files) as Record<string, StacFile> };
  }
}

/** An item under the name that its collection has here, with hrefs of its files. */
function ownItem(collection: string, item: StacItem): StacItem {
  const assets = (item['assets'] ?? {}) as Record<string, { href: string }>;
  const place = `${STAC_BASE}/stac/collections/${collection}/items/${encodeURIComponent(item.id)}/assets`;
  const hrefs = Object.entries(assets).map(([key, asset]) => {
    const { href } = asset;
    return [
      key,
      href.startsWith(`${STAC_ASSET}/`) ? { ...asset, href: place + href.slice(STAC_ASSET.length) } : asset,
    ];
  });
  return { ...item, collection, assets: Object.fromEntries(hrefs) as object };
}

function parseItem(text: string): StacItem {
  try {
    return JSON.parse(text) as StacItem;
  } catch (error) {
    throw new TaskFailure('source-unreadable', 'A stored STAC item is damaged.', String(error));
  }
}
