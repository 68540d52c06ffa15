import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { notFound } from '../../core/errors/errors.js';
import { buildCrsUri, type Crs, defaultCrs, requireReachable } from '../../core/geometry/crs.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { FEATURES_PATH } from '../../core/http/paths.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { csvHeader } from '../../core/values/csv.js';
import type { CollectionView } from '../../services/features/view.js';
import { runTask } from '../../services/kit/run-task.js';
import { formatLinks, type Link, linkHeader } from '../surface/common.js';
import { crsMember } from '../surface/crs-member.js';

import { CSV_FORMAT, GML_FORMAT, ITEM_FORMATS } from './formats.js';
import { gmlFeature, parseGmlId } from './gml.js';
import { itemTag } from './item-tag.js';
import { createFeatureOutput } from './items.js';
import { relatedLinks } from './relationship-links.js';

/** One feature of a view in the negotiated format; its `gml:id` finds it as well. Throws 404. */
export async function readItem(
  x: Exchange,
  pools: Pools,
  view: CollectionView,
  featureId: string,
  wish: Crs | undefined,
) {
  const { collection, source, rows, fields } = view;
  requireReachable({ crs: wish }, collection);
  const crs = wish ?? defaultCrs(collection);
  const read = (id: string) =>
    runTask(x, pools, 'vector.item', {
      source,
      ...createFeatureOutput(x, view, x.format, crs, fields),
      id,
      filter: rows,
    });
  const named = parseGmlId(featureId);
  let id = featureId;
  let answer = await read(id);
  if (!answer && named !== undefined) answer = await read((id = named));
  if (!answer) throw notFound('feature', featureId.slice(0, 100));
  return {
    id,
    crs,
    text: Buffer.from(answer.data).toString('utf8'),
    tag: itemTag(answer.shown, x.format, crs),
  };
}

export type FeatureItem = Awaited<ReturnType<typeof readItem>>;

/** The feature as its own document. */
export function itemReply(
  x: Exchange,
  view: CollectionView,
  catalog: CatalogSnapshot,
  item: FeatureItem,
): Reply {
  const { id, crs, text, tag } = item;
  const bare = x.format === CSV_FORMAT || x.format === GML_FORMAT;
  const links = bare ? itemLinks(x, view, id) : featureLinks(x, view, catalog, item);
  return {
    status: 200,
    mediaType: x.format.mediaType,
    body: itemBody(x, view, withCrs(text, crs), links),
    etag: tag,
    cacheControl: 'no-cache',
    headers: {
      'content-crs': `<${buildCrsUri(crs, x.baseUrl)}>`,
      ...(bare ? { link: linkHeader(links) } : {}),
    },
  };
}

const FEATURE = '{"type":"Feature",';

function withCrs(text: string, crs: Crs): string {
  return text.startsWith(FEATURE) ? `${FEATURE}${crsMember(crs)}${text.slice(FEATURE.length)}` : text;
}

function itemBody(x: Exchange, view: CollectionView, text: string, links: readonly Link[]): string {
  if (x.format === CSV_FORMAT) return csvHeader(view.fields) + text;
  return x.format === GML_FORMAT ? gmlFeature(x, text) : withLinks(text, links);
}

/** A GeoJSON feature with its links. */
export function withLinks(feature: string, links: readonly Link[]): string {
  return `${feature.slice(0, -1)},"links":${JSON.stringify(links)}}`;
}

/** Links of a GeoJSON feature, those to what belongs to it among them. */
export function featureLinks(
  x: Exchange,
  view: CollectionView,
  catalog: CatalogSnapshot,
  { id, text }: Pick<FeatureItem, 'id' | 'text'>,
): Link[] {
  return [...itemLinks(x, view, id), ...relatedLinks(x, view, catalog, text)];
}

function itemLinks(x: Exchange, { collection }: Pick<CollectionView, 'collection'>, id: string): Link[] {
  const path = `${FEATURES_PATH}/collections/${collection.id}`;
  return [
    ...formatLinks(x, `${path}/items/${encodeURIComponent(id)}`, ITEM_FORMATS, x.query),
    { href: `${x.baseUrl}${path}`, rel: 'collection', type: 'application/json', title: collection.title },
  ];
}
