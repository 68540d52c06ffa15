import { ApiError, badParameter, fieldFailure } from '../../../core/errors/errors.js';
import { adviseName } from '../../../core/errors/near-names.js';
import type { Operation, Param } from '../../../core/http/operation.js';
import { nameReceived, renameField } from './received-value.js';

const NONE: ReadonlySet<string> = new Set();

/**
 * Parses `a=1&b=2`. A repeated name is an error, except for repeatable names, whose values are joined by commas. With
 * `allowsEqual`, the same value can be repeated, because WMS clients add parameters to URLs that contain them.
 */
export function parseQuery(query: string, repeatable = NONE, allowsEqual = false): Map<string, string> {
  const values = new Map<string, string>();
  if (query === '') return values;
  for (const part of query.split('&')) {
    if (part === '') continue;
    const cut = part.indexOf('=');
    const name = decodePart(cut < 0 ? part : part.slice(0, cut));
    const value = cut < 0 ? '' : decodePart(part.slice(cut + 1));
    const before = values.get(name);
    if (before === value && allowsEqual) continue;
    const mayRepeat = repeatable.has(name) || (allowsEqual && repeatable.has(name.toLowerCase()));
    if (before !== undefined && !mayRepeat) throw badParameter(name, 'is given more than once. Send it once');
    values.set(name, before === undefined ? value : `${before},${value}`);
  }
  return values;
}

function decodePart(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replace(/\+/g, ' '));
  } catch {
    throw new ApiError(
      'invalid-request',
      'The query string has a malformed percent escape. Encode % as %25.',
    );
  }
}

/** Prepared parameter parsers of an operation. */
export interface ParamPlan {
  readonly entries: readonly (readonly [key: string, param: Param])[];
  readonly queryNames: ReadonlySet<string>;
  /** Names that may be given several times. */
  readonly repeatable: ReadonlySet<string>;
  readonly open: boolean;
  /** Whether a parameter is a request header, so that values depend on more than the target. */
  readonly readsHeaders: boolean;
}

export function planParams(operation: Operation): ParamPlan {
  const entries = Object.entries(operation.params);
  const queryNames = new Set<string>(operation.formats.length > 0 ? ['f'] : []);
  for (const [, param] of entries) {
    if (param.in !== 'query') continue;
    queryNames.add(param.name);
    for (const alias of param.aliases ?? []) queryNames.add(alias);
  }
  const readsHeaders = entries.some(([, param]) => param.in === 'header');
  const open = operation.openQuery ?? false;
  const names = entries.flatMap(([, param]) => (param.repeatable ? [param.name] : []));
  // Names of services with an open query have no case.
  const repeatable = new Set([...names, ...(open ? names.map((name) => name.toLowerCase()) : [])]);
  return { entries, queryNames, repeatable, open, readsHeaders };
}

/** Reads every parameter of an operation; throws 400 for the first wrong or unknown one. */
export function readParams(
  plan: ParamPlan,
  query: Map<string, string>,
  path: (name: string) => string | undefined,
  header: (name: string) => string | undefined,
): Record<string, unknown> {
  if (!plan.open) {
    for (const name of query.keys()) {
      if (!plan.queryNames.has(name)) {
        const detail = `is not a parameter of this operation.${adviseName(name, plan.queryNames)}`;
        throw fieldFailure('unknown-parameter', [{ name, detail }]);
      }
    }
  }
  const values: Record<string, unknown> = {};
  for (const [key, param] of plan.entries) {
    const raw = rawValue(param, query, path, header);
    try {
      values[key] = param.parse(raw);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const sent = sentName(param, query);
      throw nameReceived(renameField(error, param.name, sent), (name) =>
        name === sent ? raw : query.get(name),
      );
    }
  }
  return values;
}

/** The name by which a client sent a parameter: an error blames what was sent. */
function sentName({ in: place, name, aliases = [] }: Param, query: Map<string, string>): string {
  if (place !== 'query' || query.has(name)) return name;
  return aliases.find((alias) => query.has(alias)) ?? name;
}

function rawValue(
  param: Param,
  query: Map<string, string>,
  path: (name: string) => string | undefined,
  header: (name: string) => string | undefined,
): string | undefined {
  if (param.in === 'path') return path(param.name);
  if (param.in === 'header') return header(param.name.toLowerCase());
  const direct = query.get(param.name);
  if (direct !== undefined || !param.aliases) return direct;
  for (const alias of param.aliases) {
    const value = query.get(alias);
    if (value !== undefined) return value;
  }
  return undefined;
}
