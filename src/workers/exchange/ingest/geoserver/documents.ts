import { type Json, object, objects } from '../json.js';

/**
 * JSON as GeoServer writes it, out of XML: an empty list is `""` in the place of its object, a list of one may be that
 * one alone, and texts that look like numbers or booleans are such.
 */

/** The list below a member: `{"layers": {"layer": [..]}}`. */
export function listOf(document: Json, member: string, entry: string): Json[] {
  const value = object(document[member])[entry];
  return Array.isArray(value) ? objects(value) : objects([value]);
}

/** As `listOf`, of texts. */
export function textsOf(document: Json, member: string, entry: string): string[] {
  const value = object(document[member])[entry];
  return (Array.isArray(value) ? value : [value]).flatMap((one) => textOf(one) ?? []);
}

/** A text; undefined when it is empty. An element with attributes has its text as `$`. */
export function textOf(value: unknown): string | undefined {
  const text = typeof value === 'object' && value !== null ? (value as Json)['$'] : value;
  if (typeof text === 'number' || typeof text === 'boolean') return String(text);
  return typeof text === 'string' && text.trim() !== '' ? text : undefined;
}

export function flagOf(value: unknown, absent: boolean): boolean {
  const text = textOf(value);
  return text === undefined ? absent : text === 'true';
}

export function numberOf(value: unknown): number | undefined {
  const text = textOf(value);
  const number = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** Names of the entries of a list. */
export function namesOf(document: Json | undefined, member: string, entry: string): string[] {
  return document === undefined
    ? []
    : listOf(document, member, entry).flatMap(({ name }) => textOf(name) ?? []);
}

/** Pairs of `{"entry": [{"@key": "host", "$": "db"}]}`. */
export function entriesOf(document: Json, member: string): [string, string][] {
  return listOf(document, member, 'entry').flatMap((entry): [string, string][] => {
    const [key, value] = [textOf(entry['@key']), textOf(entry)];
    return key === undefined || value === undefined ? [] : [[key, value]];
  });
}
