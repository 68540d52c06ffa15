import type { PgValue } from '../../../../native/postgres.js';

/** Groups rows by their first value; `read` takes the values behind it. */
export function groupRows<T>(rows: readonly PgValue[][], read: (row: PgValue[]) => T): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const [key, ...row] of rows) {
    const group = groups.get(key as string);
    if (group) group.push(read(row));
    else groups.set(key as string, [read(row)]);
  }
  return groups;
}
