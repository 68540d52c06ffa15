import type { TableName } from '../../../core/tasks/table-tasks.js';
import type { Pools } from '../../../core/tasks/tasks.js';

const DEADLINE_MS = 20_000;

/** A table, and how to connect to its database. */
export interface PlacedTable extends TableName {
  /** The URL that locates the database. Users and passwords in it are not compared. */
  readonly shownUrl: string;
  /** The URL with its password. Rejects when that cannot be read. */
  url(): Promise<string>;
}

/**
 * The members of `others` that are the same table as `one`.
 * One database can have many addresses (sockets, aliases, poolers, replicas), so the identity of the table is queried
 * in databases whose URLs differ. A database that does not respond counts as the same: a layer must keep its rules
 * while a database is down.
 */
export async function findSameTable<T extends PlacedTable>(
  pools: Pools,
  one: PlacedTable,
  others: readonly T[],
): Promise<T[]> {
  const namesakes = others.filter(({ schema, table }) => schema === one.schema && table === one.table);
  const place = formatPlace(one);
  const elsewhere = new Map(
    namesakes.filter((other) => formatPlace(other) !== place).map((other) => [formatPlace(other), other]),
  );
  if (elsewhere.size === 0) return namesakes;
  const own = await identify(pools, one);
  const same = new Set<string>();
  const compare = async ([key, other]: [string, T]) => {
    const identities = await identify(pools, other);
    if (!own || !identities || identities.some((text) => own.includes(text))) same.add(key);
  };
  await Promise.all([...elsewhere].map(compare));
  return namesakes.filter((other) => formatPlace(other) === place || same.has(formatPlace(other)));
}

/** Identity of a table. Undefined if the database does not respond. */
async function identify(pools: Pools, { schema, table, url }: PlacedTable): Promise<string[] | undefined> {
  try {
    const input = { database: await url(), tables: [{ schema, table }] };
    return (await pools.run('vector.table-identities', input, { deadlineMs: DEADLINE_MS }))[0];
  } catch {
    return undefined;
  }
}

/** Returns a text that is equal for two URLs with the same address, regardless of the user. */
function formatPlace({ shownUrl }: PlacedTable): string {
  if (!URL.canParse(shownUrl)) return shownUrl;
  const { hostname, port, pathname, searchParams } = new URL(shownUrl);
  const host = hostname.toLowerCase();
  const place = /^(localhost|127\.[\d.]+|\[::1\]|)$/.test(host) ? 'localhost' : host;
  const stated = ['host', 'hostaddr', 'port', 'dbname', 'service'].map((name) => searchParams.get(name));
  return JSON.stringify([place, port || '5432', pathname, stated]);
}
