import type { Field, PostgisSource } from '../../../core/vector-source.js';
import { chosen } from './columns.js';

/** The attributes of a tile's features: a key that is no integer, and so no feature id, is one of them. */
export function tileFields(source: PostgisSource, names?: readonly string[]): Field[] {
  const fields = chosen(source, names);
  if (source.idType === 'integer' || names?.length === 0) return fields;
  // Whatever the type is called: of all but uuid the text is read.
  return [...fields, { name: source.idColumn, type: 'string', nullable: false, sqlType: source.idType }];
}
