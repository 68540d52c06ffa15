import type { ApiError } from '../../core/errors/errors.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import { inBandFailure } from './images/in-band.js';
import { withCallback } from './jsonp.js';

/** Requests below the paths of GeoServices that no operation takes: their clients read failures in band alone. */

const BELOW = /^\/(?:sharing\/)?rest(?:\/|$)/;
const SERVER = /\/([A-Z][A-Za-z]{1,20}Server)(?:\/|$)/;
/** Of these the failures are counted by their names; a path may name anything. */
const SERVERS: ReadonlySet<string> = new Set([
  ...['FeatureServer', 'MapServer', 'ImageServer', 'VectorTileServer'],
  ...['GeometryServer', 'GeocodeServer', 'GPServer'],
]);
/** Formats whose readers take JSON for a failure. */
const FORMATS: ReadonlySet<string> = new Set(['', 'json', 'pjson', 'pbf']);

/** How such a request is told what failed; undefined for one of another surface, and where another format is asked for. */
export function strayFailure(
  x: Pick<Exchange, 'path' | 'query' | 'method'>,
  error: ApiError,
): Reply | undefined {
  // What is wrong with the server is for probes to see.
  if (!BELOW.test(x.path) || error.status >= 500) return undefined;
  const format = new URLSearchParams(x.query).get('f') ?? '';
  if (!FORMATS.has(format.toLowerCase())) return undefined;
  const [, name = ''] = SERVER.exec(x.path) ?? [];
  const reply = inBandFailure(SERVERS.has(name) ? name : 'Generic', 'unknown')(error);
  return x.method === 'GET' ? withCallback(x, reply) : reply;
}
