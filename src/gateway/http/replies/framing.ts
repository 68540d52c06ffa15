import { ApiError } from '../../../core/errors/errors.js';
import type { HttpExchange } from '../exchange.js';

/** A Host header with a character that is not allowed in an authority (RFC 3986, 3.2). */
const NO_AUTHORITY = /[^\w.~!$&'()*+,;=:%[\]-]/;

/**
 * Refuses a message whose headers leave its length or its target ambiguous (RFC 9112, 3.2, 6.1 and 6.3), because a
 * proxy may have read it differently. The connection is closed after the response. The exchange must be attached.
 */
export function requireFraming(x: HttpExchange): void {
  const counts = { host: 0, 'content-length': 0, 'transfer-encoding': 0 };
  let host = '';
  let coding = '';
  x.eachHeader((name, value) => {
    if (name !== 'host' && name !== 'content-length' && name !== 'transfer-encoding') return;
    counts[name]++;
    if (name === 'host') host = value;
    else if (name === 'transfer-encoding') coding = value;
  });
  const problem = findProblem(counts, host, coding.trim().toLowerCase());
  if (!problem) return;
  x.keepAlive = false;
  x.detach();
  throw problem;
}

function findProblem(
  counts: Readonly<Record<'host' | 'content-length' | 'transfer-encoding', number>>,
  host: string,
  coding: string,
): ApiError | undefined {
  for (const [name, count] of Object.entries(counts))
    if (count > 1)
      return new ApiError('invalid-request', `${name}: the header is given more than once. Send it once.`);
  if (NO_AUTHORITY.test(host))
    return new ApiError(
      'invalid-request',
      'Host: the header is malformed. Send a host name, optionally with a port.',
    );
  if (coding !== '' && coding !== 'chunked')
    return new ApiError('not-implemented', 'Transfer-Encoding: must be chunked.');
  return undefined;
}

/** Refuses what a client expects and does not get (RFC 9110, 10.1.1). */
export function requireMetExpectation(x: HttpExchange): void {
  const expected = x.header('expect');
  if (expected !== undefined && expected.toLowerCase() !== '100-continue')
    throw new ApiError('expectation-failed', 'Expect: must be 100-continue.');
}
