import type { ApiError } from '../../core/errors/errors.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { createErrorReply } from './images/in-band.js';
import { withCallback } from './jsonp.js';

/** Requests below the GeoServices paths that match no operation. Their clients read errors only from the body. */

const BELOW = /^\/(?:sharing\/)?rest(?:\/|$)/;
const SERVER = /\/([A-Z][A-Za-z]{1,20}Server)(?:\/|$)/;
/** Server types for which errors are counted by name; other path segments may contain anything. */
const SERVERS: ReadonlySet<string> = new Set([
  ...['FeatureServer', 'MapServer', 'ImageServer', 'VectorTileServer'],
  ...['GeometryServer', 'GeocodeServer', 'GPServer'],
]);
/** Formats whose readers take JSON for a failure. */
const FORMATS: ReadonlySet<string> = new Set(['', 'json', 'pjson', 'pbf']);

/** Error response for such a request; undefined for other surfaces, and if another format is requested. */
export function strayFailure(
  x: Pick<Exchange, 'path' | 'query' | 'method'>,
  error: ApiError,
): Reply | undefined {
  // Server errors keep their status, so that probes see them.
  if (!BELOW.test(x.path) || error.status >= 500) return undefined;
  const format = new URLSearchParams(x.query).get('f') ?? '';
  if (!FORMATS.has(format.toLowerCase())) return undefined;
  const [, name = ''] = SERVER.exec(x.path) ?? [];
  const reply = createErrorReply(SERVERS.has(name) ? name : 'Generic', 'unknown')(error);
  return x.method === 'GET' ? withCallback(x, reply) : reply;
}
