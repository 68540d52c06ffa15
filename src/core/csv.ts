import { extname } from 'node:path';

/** Files of texts in columns, which have no types of their own. */
export function isCsv(path: string): boolean {
  return ['.csv', '.tsv', '.psv'].includes(extname(path).toLowerCase());
}
