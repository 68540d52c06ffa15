import type { ApiError } from '../../../core/errors/errors.js';
import { formatFieldError } from '../../../core/errors/field-errors.js';
import type { Reply } from '../../../core/http/operation.js';
import { stringifyExactly } from '../../../core/values/json.js';
import { geoServicesErrors } from '../../../services/telemetry/metrics.js';
import { InvalidCredentials } from '../../auth/credentials.js';

/** GeoServices responses: JSON with status 200, also for errors, which have a member `error`. */

/** Codes that make clients sign in, or sign in again. */
const TOKEN_REQUIRED = 499;
const INVALID_TOKEN = 498;

/** Returns the function that turns an error into the response of an operation, and counts the error. `server` is a label of the metric, such as `MapServer`. */
export function createErrorReply(server: string, operation: string): (error: ApiError) => Reply {
  const name = operation.toLowerCase();
  return (error) => {
    const { status, message, errors = [], headers } = error;
    const code =
      error instanceof InvalidCredentials ? INVALID_TOKEN : status === 401 ? TOKEN_REQUIRED : status;
    geoServicesErrors.cell(server, name, String(code)).inc();
    const details = errors.map(formatFieldError);
    const later = headers?.['retry-after'];
    return {
      ...jsonReply({ error: { code, message, details } }),
      ...(later === undefined ? {} : { headers: { 'retry-after': later } }),
    };
  };
}

/**
 * Error response for clients that expect bytes (tiles, glyphs, icons): the same document, but with the HTTP status of
 * the error.
 */
export function withHttpStatus(failure: (error: ApiError) => Reply): (error: ApiError) => Reply {
  return (error) => ({ ...failure(error), status: error.status });
}

/** `pjson` is JSON that people read. Ids beyond 2^53 and `ExactNumber`s are written digit by digit. */
export function jsonReply(document: unknown, format: 'json' | 'pjson' = 'json'): Reply {
  return textReply(stringifyExactly(document, format === 'pjson' ? '  ' : ''));
}

/** A document whose text is there already: that of many features. */
export function textReply(body: string | Uint8Array): Reply {
  return { status: 200, mediaType: 'application/json', body, cacheControl: 'no-store' };
}
