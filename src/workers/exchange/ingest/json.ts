import type { Box } from '../../../core/geometry/box.js';
import { type AnyNumber, exactNumber, isExactNumber, toInt64 } from '../../../core/values/exact-number.js';
import { type ExactMembers, parseJsonExactly } from '../../../core/values/json.js';
import { refused } from '../../storage/remote/allowed-hosts.js';

/** JSON of other servers. Members are read only if they have the expected type. */
export type RemoteJson = Readonly<Record<string, unknown>>;

/** The text of a document. */
export const documentText = (bytes: Buffer): string => bytes.toString('utf8').replace(/^\uFEFF/, '');

/**
 * Parses a JSON object. Fails with `source-unreadable` for everything else. Numbers in the exact members can be
 * `ExactNumber`s.
 */
export function parseObject(bytes: Buffer, exact: ExactMembers = []): RemoteJson {
  const value = read(documentText(bytes), exact);
  if (!isObject(value)) throw refused('it is not a JSON object');
  return value;
}

function read(text: string, exact: ExactMembers): unknown {
  try {
    return parseJsonExactly(text, exact);
  } catch {
    throw refused('it is not JSON');
  }
}

export function isObject(value: unknown): value is RemoteJson {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function object(value: unknown): RemoteJson {
  return isObject(value) ? value : {};
}

export function listJsonObjects(value: unknown): RemoteJson[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function string(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function readJsonInteger(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined;
}

/** An integer of 64 bits, also as text, which some servers write beyond 2^53. */
export function bigInteger(value: unknown): bigint | undefined {
  if (typeof value === 'string') return /^-?\d{1,19}$/.test(value) ? toInt64(exactNumber(value)) : undefined;
  return typeof value === 'number' || isExactNumber(value) ? toInt64(value as AnyNumber) : undefined;
}

export function parseJsonBox(value: unknown): Box | undefined {
  if (!Array.isArray(value) || !value.every(Number.isFinite)) return undefined;
  if (value.length === 4) return value as unknown as Box;
  return value.length === 6 ? [value[0], value[1], value[3], value[4]] : undefined;
}

/** A code of EPSG in any of the ways in which servers name a CRS. */
export function parseSrid(crs: string | undefined): number | undefined {
  if (crs === undefined) return undefined;
  if (/CRS:?84\b|\/CRS84h?$/i.test(crs)) return 4326;
  const [, code] = /(?:EPSG|epsg)[/:]+(?:[\d.]*[/:]+)?(\d{3,6})$|epsg\.xml#(\d+)$/.exec(crs) ?? [];
  const last = code ?? /#(\d+)$/.exec(crs)?.[1];
  return last === undefined ? undefined : Number(last);
}

export interface RemoteLink {
  readonly rel: string;
  readonly href: string;
  readonly type: string | undefined;
}

/** Returns the links of a document with absolute URLs. */
export function parseLinks(document: RemoteJson, base: string): RemoteLink[] {
  return listJsonObjects(document['links']).flatMap((link) => {
    const { rel, href, type } = link;
    if (typeof rel !== 'string' || typeof href !== 'string' || !URL.canParse(href, base)) return [];
    return [{ rel, href: new URL(href, base).href, type: string(type) }];
  });
}
