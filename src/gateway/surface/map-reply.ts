import { buildCrsUri } from '../../core/geometry/crs.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { releaseBytes } from '../../native/index.js';
import type { DrawnMap } from '../../services/maps/draw.js';
import { contentBox } from '../../services/maps/window.js';
import { derivedFrom, lossHeaders, sourceItemHeaders } from './source-item-headers.js';

/** A map as the body of a reply, with what it shows in the headers. */
export function mapReply(
  x: Pick<Exchange, 'baseUrl'>,
  { image, window, time, batch, items }: DrawnMap,
): Reply {
  const links = batch && derivedFrom(items, `${x.baseUrl}/stac`);
  return {
    status: 200,
    mediaType: image.mediaType,
    body: image.data,
    etag: image.tag,
    cacheControl: 'no-cache',
    headers: {
      'content-crs': `<${buildCrsUri(window.crs, x.baseUrl)}>`,
      'content-bbox': contentBox(window).join(','),
      ...(time === undefined ? {} : { 'content-datetime': time }),
      ...lossHeaders(image),
      ...(batch ? { ...sourceItemHeaders(items, batch), ...(links ? { link: links } : {}) } : {}),
    },
    sent: () => releaseBytes(image.data),
  };
}
