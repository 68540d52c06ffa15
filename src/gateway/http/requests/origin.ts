import { ApiError } from '../../../core/errors/errors.js';
import type { Exchange } from '../../../core/http/operation.js';

/**
 * WebSockets are not under the same-origin rule of browsers. Pages of other sites may listen to what everybody may; with
 * credentials, which a page must have been given, they are refused (403).
 */
export function refuseForeignPages(x: Pick<Exchange, 'header' | 'principal' | 'baseUrl'>): void {
  const origin = x.header('origin');
  if (origin !== undefined && x.principal.kind !== 'anonymous' && new URL(x.baseUrl).origin !== origin)
    throw new ApiError(
      'forbidden',
      'Origin: streams with cookies are only for pages of this site. Send a token instead.',
    );
}
