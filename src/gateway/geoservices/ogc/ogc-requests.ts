import { type ApiError, badParameter } from '../../../core/errors/errors.js';
import type { Crs } from '../../../core/geometry/crs.js';
import type { Exchange, Reply } from '../../../core/http/operation.js';
import { xmlEscaped } from '../../../core/values/xml-text.js';
import { parseCrs } from '../../../native/crs.js';
import { geoServicesErrors } from '../../../services/telemetry/metrics.js';
import { type Members, readChoiceMember } from '../members.js';

/**
 * Definitions that the OGC services on map services share: parameters as pairs with case-insensitive names, and XML.
 */

/**
 * Parameters by their names in capitals. Throws 400 for one that comes with two values, unless it is one of `repeatable`, whose
 * last value counts here.
 */
export function parseOgcParameters(query: string, repeatable: readonly string[] = []): Members {
  const pairs = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    const key = name.toUpperCase();
    if (!repeatable.includes(key) && (pairs.get(key) ?? value) !== value)
      throw badParameter(
        key,
        `has two values, '${pairs.get(key)!.slice(0, 40)}' and '${value.slice(0, 40)}'. Send one`,
      );
    pairs.set(key, value);
  }
  return Object.fromEntries(pairs);
}

/** Throws 400 naming `REQUEST`. */
export function readOgcRequest<T extends string>(pairs: Members, values: readonly [T, ...T[]]): T {
  if (!pairs['REQUEST']) throw badParameter('REQUEST', `must be ${values.join(' or ')}`);
  return readChoiceMember(pairs, 'REQUEST', { values, fallback: values[0] });
}

/** Throws 400 naming the parameter. */
export function readPixelCount(
  pairs: Members,
  name: string,
  [least, most]: readonly [number, number],
): number {
  const value = pairs[name];
  const number = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= least && number <= most))
    throw badParameter(name, `must be an integer from ${least} to ${most}`);
  return number;
}

/** `EPSG:n` or `CRS:84`. Throws 400 naming the parameter. */
export function crsNamed(name: string, value: unknown): Crs {
  const text = typeof value === 'string' ? value : '';
  const crs = parseCrs(/^CRS:84$/i.test(text) ? 'CRS84' : text);
  if (!crs || crs.isPlane)
    throw badParameter(name, 'must be a known coordinate reference system, for example EPSG:4326');
  return crs;
}

export function xmlReply(body: string, mediaType = 'text/xml'): Reply {
  return {
    status: 200,
    mediaType,
    body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}`,
    cacheControl: 'no-cache',
  };
}

export function writeOgcElement(
  name: string,
  content: string,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${xmlEscaped(String(value))}"`);
  return content === '' ? `<${name}${list.join('')}/>` : `<${name}${list.join('')}>${content}</${name}>`;
}

export const textElement = (name: string, text: string) => writeOgcElement(name, xmlEscaped(text));

/** A failure for a document in XML. */
export interface XmlFailure {
  readonly message: string;
  /** Name of the parameter that is wrong, or what the standard of the service wants there. */
  readonly parameter: string | undefined;
  /** Exception code, where it does not follow from the parameter. */
  readonly code: string | undefined;
}

/** The handler of failures of a service: a document in XML, with the HTTP status of the failure. */
export function xmlFailure(
  server: string,
  operation: string,
  document: (failure: XmlFailure, query: string) => string | readonly [body: string, mediaType: string],
): (error: ApiError, x: Pick<Exchange, 'query'>) => Reply {
  return ({ status, message, errors, headers }, { query }) => {
    geoServicesErrors.cell(server, operation, String(status)).inc();
    const [first] = errors ?? [];
    const answer = document({ message, parameter: first?.name || undefined, code: first?.code }, query);
    const reply = typeof answer === 'string' ? xmlReply(answer) : xmlReply(...answer);
    return { ...reply, status, cacheControl: 'no-store', ...(headers ? { headers } : {}) };
  };
}

export function requireFormat(pairs: Members, name: string, formats: readonly string[]): string {
  return readChoiceMember(pairs, name, { values: formats, fallback: formats[0]! });
}
