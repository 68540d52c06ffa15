import { ApiError } from '../../../core/errors/errors.js';
import type { Exchange } from '../../../core/http/operation.js';

/**
 * Checks the origin of WebSockets, which browsers do not restrict to the same origin. Pages of other sites can
 * receive public data; with credentials they are rejected (403).
 */
export function refuseForeignPages(x: Pick<Exchange, 'header' | 'principal' | 'baseUrl'>): void {
  const origin = x.header('origin');
  if (origin !== undefined && x.principal.kind !== 'anonymous' && new URL(x.baseUrl).origin !== origin)
    throw new ApiError(
      'forbidden',
      'Origin: streams with cookies are only for pages of this site. Send a token instead.',
    );
}
