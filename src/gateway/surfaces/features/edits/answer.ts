import { coordinatePrecision } from '../../../../core/crs.js';
import { GEOJSON_FORMAT } from '../../../../core/media.js';
import type { Exchange, Reply } from '../../../../core/operation.js';
import type { Pools } from '../../../../core/tasks.js';
import { runTask } from '../../../services/run-task.js';
import { formatLinks, type Link } from '../../common.js';
import { FEATURES_PATH } from '../documents.js';
import { itemTag } from '../item-tag.js';
import { LINKED_FORMATS } from '../items.js';
import type { EditTarget } from './target.js';

/** The stored feature as the answer to an edit: 200, or 201 with its place. In the CRS that the body came in. */
export async function featureReply(
  x: Exchange,
  pools: Pools,
  target: EditTarget,
  id: string,
  status: 200 | 201,
): Promise<Reply> {
  const { collection, crs, task } = target;
  const path = `${FEATURES_PATH}/collections/${collection.id}`;
  const place = `${path}/items/${encodeURIComponent(id)}`;
  const headers = {
    'content-crs': `<${crs.uri}>`,
    ...(status === 201 ? { location: `${x.baseUrl}${place}` } : {}),
  };
  const feature = await runTask(x, pools, 'vector.item', {
    source: collection.source,
    filter: task.filter,
    id,
    format: 'geojson',
    crs: crs.proj,
    swapAxes: crs.northFirst,
    precision: coordinatePrecision(crs),
    fields: task.visible,
  });
  // Someone else was quicker to delete it: the edit itself stands.
  if (!feature) return { status, headers };
  const links: Link[] = [
    ...formatLinks(x, place, LINKED_FORMATS),
    { href: `${x.baseUrl}${path}`, rel: 'collection', type: 'application/json', title: collection.title },
  ];
  const text = Buffer.from(feature.data).toString('utf8');
  return {
    status,
    mediaType: GEOJSON_FORMAT.mediaType,
    body: `${text.slice(0, -1)},"links":${JSON.stringify(links)}}`,
    etag: itemTag(feature.row, GEOJSON_FORMAT, crs),
    headers,
  };
}
