import { listJsonObjects, object, type RemoteJson } from '../json.js';

/**
 * JSON as GeoServer converts it from XML. An empty list is `""` instead of its object, and a list of one member can
 * be that member. Strings that resemble numbers or booleans have those types.
 */

/** The list below a member: `{"layers": {"layer": [..]}}`. */
export function listRestObjects(document: RemoteJson, member: string, entry: string): RemoteJson[] {
  const value = object(document[member])[entry];
  return Array.isArray(value) ? listJsonObjects(value) : listJsonObjects([value]);
}

/** Same as `listRestObjects`, for strings. */
export function listRestStrings(document: RemoteJson, member: string, entry: string): string[] {
  const value = object(document[member])[entry];
  return (Array.isArray(value) ? value : [value]).flatMap((one) => parseRestString(one) ?? []);
}

/** A text; undefined when it is empty. An element with attributes has its text as `$`. */
export function parseRestString(value: unknown): string | undefined {
  const text = typeof value === 'object' && value !== null ? (value as RemoteJson)['$'] : value;
  if (typeof text === 'number' || typeof text === 'boolean') return String(text);
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

export function parseRestFlag(value: unknown, absent: boolean): boolean {
  const text = parseRestString(value);
  return text === undefined ? absent : text === 'true';
}

export function parseRestNumber(value: unknown): number | undefined {
  const text = parseRestString(value);
  const number = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** Names of the entries of a list. */
export function listRestNames(document: RemoteJson | undefined, member: string, entry: string): string[] {
  return document === undefined
    ? []
    : listRestObjects(document, member, entry).flatMap(({ name }) => parseRestString(name) ?? []);
}

/** Pairs of `{"entry": [{"@key": "host", "$": "db"}]}`. */
export function listRestPairs(document: RemoteJson, member: string): [string, string][] {
  return listRestObjects(document, member, 'entry').flatMap((entry): [string, string][] => {
    const [key, value] = [parseRestString(entry['@key']), parseRestString(entry)];
    return key === undefined || value === undefined ? [] : [[key, value]];
  });
}
