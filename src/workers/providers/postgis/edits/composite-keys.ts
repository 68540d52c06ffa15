import type { CompositeKey, Field, PostgisSource } from '../../../../core/sources/vector-source.js';
import { readIntegerId } from '../../integer-ids.js';
import type { SqlParams } from '../connections/params.js';
import { column } from '../schema/names.js';

/** Ids of rows that several columns identify: the values as text, in the order of the key, with colons between. */

/** Returns the key of several columns from which the ids of a source are built. */
export function findCompositeKey({ compositeKey, idColumn }: PostgisSource): CompositeKey | undefined {
  return compositeKey?.name === idColumn ? compositeKey : undefined;
}

/** The parts of an id; undefined for text that is not an id. */
export function parseCompositeId({ parts }: CompositeKey, id: string): string[] | undefined {
  const texts = id.split(':');
  const isWhole = texts.length === parts.length && texts.every((text) => !/,|%(?!25|3A|2C)/.test(text));
  return isWhole
    ? texts.map((text) => text.replace(/%(25|3A|2C)/g, (code) => decodeURIComponent(code)))
    : undefined;
}

/** The condition on the row of an id; undefined when no row can have it. */
export function buildCompositeCondition(
  key: CompositeKey,
  id: string,
  params: SqlParams,
): string | undefined {
  const texts = parseCompositeId(key, id);
  const conditions = texts?.map((text, i) => partIs(key.parts[i]!, text, params));
  return conditions?.every((condition) => condition !== undefined) ? conditions.join(' AND ') : undefined;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * SQL that compares a part of a key. Values of other types are compared as the text in the id, because a cast of a
 * client's value could fail.
 */
function partIs(
  { name, type, sqlType = 'text' }: Field,
  text: string,
  params: SqlParams,
): string | undefined {
  if (text.includes('\u0000')) return undefined;
  if (type === 'integer')
    return readIntegerId(text) === undefined ? undefined : `${column(name)} = ${params.add(text, 'int8')}`;
  if (sqlType === 'uuid')
    return UUID.test(text) ? `${column(name)} = ${params.add(text, 'uuid')}` : undefined;
  const value = /^(text|character varying)/.test(sqlType) ? column(name) : `${column(name)}::text`;
  return `${value} = ${params.add(text, 'text')}`;
}
