import type { TableName } from '../../../core/tasks/table-tasks.js';
import type { Pools } from '../../../core/tasks/tasks.js';

const DEADLINE_MS = 20_000;

/** A table, and how to connect to its database. */
export interface PlacedTable extends TableName {
  /** The URL that tells where the database is. Users and passwords in it are not compared. */
  readonly shownUrl: string;
  /** The URL with its password. Rejects when that cannot be read. */
  url(): Promise<string>;
}

/**
 * Those of `others` that are the same table as `one`. One database has many addresses (sockets, aliases, poolers, replicas), so
 * databases whose URLs differ are asked for the identity of the table. One that does not answer counts as the same: a rule
 * of a layer must not end because a database is down.
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

/** Undefined where the database does not answer. */
async function identify(pools: Pools, { schema, table, url }: PlacedTable): Promise<string[] | undefined> {
  try {
    const input = { database: await url(), tables: [{ schema, table }] };
    return (await pools.run('vector.table-identities', input, { deadlineMs: DEADLINE_MS }))[0];
  } catch {
    return undefined;
  }
}

/** Returns a text that is the same for two URLs of one address, whoever signs in. */
function formatPlace({ shownUrl }: PlacedTable): string {
  if (!URL.canParse(shownUrl)) return shownUrl;
  const { hostname, port, pathname, searchParams } = new URL(shownUrl);
  const host = hostname.toLowerCase();
  const place = /^(localhost|127\.[\d.]+|\[::1\]|)$/.test(host) ? 'localhost' : host;
  const stated = ['host', 'hostaddr', 'port', 'dbname', 'service'].map((name) => searchParams.get(name));
  return JSON.stringify([place, port || '5432', pathname, stated]);
}
