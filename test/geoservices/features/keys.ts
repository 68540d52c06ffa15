import pg from 'pg';
import { type Town, townOf } from '../../replicas/support.js';
import { startPostgres } from '../../support/postgres.js';
import { startServer } from '../../support/server.js';

/** Layers whose keys are no whole numbers, in PostGIS: `trees` by UUIDs, with a view of
 * some, `signs` by texts and with a column named as object ids are, `posts` by texts of a fixed length. */
export interface KeyedTown {
  readonly database: string;
  readonly client: pg.Client;
  readonly town: Town;
  /** Ends the server and starts another one on the same database. */
  restart(): Promise<Town>;
  stop(): Promise<void>;
}

export const TREES = 250;

const TABLES = `
  CREATE TABLE trees (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), geom geometry(Point, 4326),
    kind text, height float8);
  INSERT INTO trees SELECT md5(n::text)::uuid, ST_SetSRID(ST_MakePoint(n / 10.0, 40), 4326),
    CASE n % 3 WHEN 0 THEN 'oak' WHEN 1 THEN 'elm' ELSE 'ash' END, n FROM generate_series(1, ${TREES}) n;
  CREATE TABLE signs (code varchar(20) COLLATE "C" PRIMARY KEY, geom geometry(Point, 4326), objectid text);
  INSERT INTO signs VALUES ('7', 'SRID=4326;POINT(1 2)', 'a'), ('it''s "A"', 'SRID=4326;POINT(3 4)', 'b'),
    ('é', 'SRID=4326;POINT(5 6)', 'c');
  CREATE TABLE posts (code char(5) COLLATE "en-x-icu" PRIMARY KEY, geom geography(Point), name text);
  INSERT INTO posts VALUES ('Ab', 'POINT(1 2)', 'one'), ('a', 'POINT(1 2)', 'two'), ('b', 'POINT(1 2)', 'three');
  CREATE VIEW oaks AS SELECT id, geom, height FROM trees WHERE kind = 'oak'`;

export async function startKeyedTown(): Promise<KeyedTown> {
  const postgres = await startPostgres();
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(TABLES);
  let town = await townOf(await startServer({ sources: [postgres.url] }));
  return {
    ...{ database: postgres.url, client },
    get town() {
      return town;
    },
    async restart() {
      await town.server.stop();
      town = await townOf(await startServer({ sources: [postgres.url] }));
      return town;
    },
    async stop() {
      await town.server.stop();
      await client.end();
      await postgres.stop();
    },
  };
}
