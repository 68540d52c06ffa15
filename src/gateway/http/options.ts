import type { Operation, Principal, Reply } from '../../core/http/operation.js';
import { formatAllow, type Match } from './router.js';

/** Seconds for which a browser caches the result of a preflight request. */
const MAX_AGE = '86400';
const ALLOWED_HEADERS =
  'authorization, content-type, content-crs, if-match, if-none-match, if-range, range, geometry-loss, x-api-key, x-esri-authorization, x-request-id, traceparent, prefer, idempotency-key, tus-resumable, upload-length, upload-metadata, upload-offset';

/**
 * The reply to OPTIONS. `Allow` names the methods that `mayRun` and the operations themselves let the caller use; what browsers
 * may send does not depend on the caller, because their preflights have no credentials.
 */
export function optionsReply(
  { route, values }: Match,
  mayRun: (operation: Operation) => boolean = () => true,
  principal?: Principal,
): Reply {
  const path = Object.fromEntries(route.names.map((name, i) => [name, values[i]!]));
  const working = [...route.methods.values()].filter((operation) => operation.allowed?.(path) ?? true);
  const own = working.filter(
    (operation) => mayRun(operation) && (operation.allowed?.(path, principal) ?? true),
  );
  return {
    status: 204,
    headers: {
      allow: formatAllow(own),
      'access-control-allow-methods': formatAllow(working),
      'access-control-allow-headers': ALLOWED_HEADERS,
      'access-control-max-age': MAX_AGE,
    },
  };
}
