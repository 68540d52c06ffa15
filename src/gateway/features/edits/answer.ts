import { buildCrsUri } from '../../../core/geometry/crs.js';
import { GEOJSON_FORMAT } from '../../../core/http/media.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { FEATURES_PATH } from '../../../core/http/paths.js';
import { runTask } from '../../../services/kit/run-task.js';
import type { SurfaceDeps } from '../../surface/common.js';

import { featureLinks, withLinks } from '../item.js';
import { itemTag } from '../item-tag.js';
import { createFeatureOutput } from '../items.js';
import type { ItemTarget } from './target.js';

/** The stored feature as the response to an edit: 200, or 201 with its location, in the CRS of the request body. */
export async function featureReply(
  x: Exchange,
  { pools, visible }: Pick<SurfaceDeps, 'pools' | 'visible'>,
  target: ItemTarget,
  id: string,
  status: 200 | 201,
): Promise<Reply> {
  const { collection, view, crs, task } = target;
  const place = `${x.baseUrl}${FEATURES_PATH}/collections/${collection.id}/items/${encodeURIComponent(id)}`;
  const headers = {
    'content-crs': `<${buildCrsUri(crs, x.baseUrl)}>`,
    ...(status === 201 ? { location: place } : {}),
  };
  const feature = await runTask(x, pools, 'vector.item', {
    source: view.source,
    filter: task.filter,
    ...createFeatureOutput(x, view, GEOJSON_FORMAT, crs, view.fields),
    id,
  });
  // Someone else was quicker to delete it: the edit itself stands.
  if (!feature) return { status, headers };
  const text = Buffer.from(feature.data).toString('utf8');
  return {
    status,
    mediaType: GEOJSON_FORMAT.mediaType,
    body: withLinks(text, featureLinks(x, view, visible(x.principal), { id, text })),
    etag: itemTag(feature.shown, GEOJSON_FORMAT, crs),
    headers,
  };
}
