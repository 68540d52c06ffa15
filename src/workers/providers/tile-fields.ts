import {
  type Field,
  fieldsNamed,
  hasIntegerIds,
  type VectorSource,
} from '../../core/sources/vector-source.js';

/**
 * Returns the attributes of a tile's features. A key that is not an integer, and therefore not a feature id, is one
 * of them.
 */
export function listTileFields(source: VectorSource, names?: readonly string[]): Field[] {
  const fields = fieldsNamed(source, names);
  if (hasIntegerIds(source) || names?.length === 0) return fields;
  // Whatever the type is called: of all but uuid the text is read.
  return [...fields, { name: source.idColumn, type: 'string', nullable: false, sqlType: source.idType }];
}
