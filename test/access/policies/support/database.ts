import pg from 'pg';

export type Values = Readonly<Record<string, unknown>>;

/** Runs SQL as the owner of the database; the rows of its last statement. */
export async function query(url: string, sql: string): Promise<Values[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Values>(sql)).rows ?? [];
  } finally {
    await client.end();
  }
}
