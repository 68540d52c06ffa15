/** Names that SQLite, GeoPackage and the store use themselves. */
export const RESERVED_NAMES = /^(sqlite|gpkg|rtree|graticule)_|^layer_styles$/i;

/** A table name from any words: lower case letters, digits and underscores; at most 60 characters. */
export function tableName(words: string): string {
  const name = words
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  if (name === '') return 'imported';
  return /^[0-9]/.test(name) ? `t_${name}`.slice(0, 60) : name;
}
