import type { Box } from '../src/core/geometry/box.js';
import type { PostgisSource } from '../src/core/sources/vector-source.js';
import type { VectorTileTask } from '../src/core/tasks/vector-tasks.js';
import type { PgParams, PgValue, PostgresConnection } from '../src/native/postgres.js';
import {
  closeAll,
  limitConnections,
  withConnection,
} from '../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../src/workers/providers/postgis/schema/discover.js';
import { postgisStore } from '../src/workers/providers/postgis/store.js';
import { startPostgres } from '../test/support/postgres.js';
import { tilesInside } from './support/buildings.js';
import {
  GEOMETRIES,
  loadBuildings,
  type SharedCost,
  sharedCost,
  splitByGeometry,
} from './support/postgis.js';
import { option, publish } from './support/report.js';

/**
 * Who should encode a tile of PostGIS: our encoder, from rows in binary, or the database by ST_AsMVT? By geometry type
 * and by features in the tile, through the same client and connection; CPU of client and session together.
 */
const rounds = option('rounds', 9);
const ROWS = 200_000;
/** Milliseconds of work per contender and round, so that ticks of the kernel's clock do not decide. */
const SLICE_MS = 400;

const postgres = await startPostgres(['shared_buffers=512MB']);
limitConnections(1);

const ask = (sql: string, params: PgParams = []): Promise<PgValue[][]> =>
  withConnection(postgres.url, (connection: PostgresConnection) => connection.query(sql, params));

async function load(): Promise<void> {
  loadBuildings(postgres.url, 'loaded', ROWS);
  for (const statement of splitByGeometry('loaded')) await ask(statement);
}

const cost = (pid: number, work: (pass: number) => Promise<unknown>): Promise<SharedCost> =>
  sharedCost(pid, work, (_passes, wallMs) => wallMs >= SLICE_MS);

/** The tiles below those of zoom 14: fewer features in each. */
function deeper(tiles: readonly Box[], levels: number): Box[] {
  return tiles.map(([minx, miny, maxx]) => {
    const side = (maxx - minx) / 2 ** levels;
    return [minx, miny, minx + side, miny + side];
  });
}

const taskOf = (bbox: Box): VectorTileTask => ({
  layers: [],
  crs: 'EPSG:3857',
  bbox,
  extent: 4096,
  buffer: 64,
  simplify: 0.5,
  encoding: 'identity',
});

const inDatabase = (table: string, bbox: Box) =>
  ask(
    `SELECT ST_AsMVT(t.*, '${table}', 4096, 'g', 'fid') FROM (
       SELECT ST_AsMVTGeom(geom, ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8, 3857), 4096, 64) AS g,
         fid, name, kind, levels, height FROM ${table}
       WHERE geom && ST_Expand(ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8, 3857),
         ($3::float8 - $1::float8) / 64)) t`,
    bbox.map(String),
  );

try {
  await load();
  const { layers } = await discoverTables({ database: postgres.url });
  const [[pid]] = (await ask('SELECT pg_backend_pid()')) as [[number]];
  const tiles = tilesInside(ROWS, 16);
  const cases = Object.keys(GEOMETRIES).flatMap((table) =>
    [0, 2, 4].map((levels) => ({ table, tiles: deeper(tiles, levels), features: 0 })),
  );
  const ours = ({ table, tiles: list }: (typeof cases)[number], pass: number) => {
    const source = layers.find((layer) => layer.source.table === table)!.source as PostgisSource;
    return postgisStore.tileLayer(taskOf(list[pass % list.length]!), {
      filter: undefined,
      name: table,
      source,
    });
  };
  const samples = new Map<string, { ours: SharedCost[]; theirs: SharedCost[] }>();
  for (let round = 0; round <= rounds; round++) {
    for (const one of cases) {
      one.features = (await ours(one, 0)).features;
      const name = `${one.features} ${one.table}`;
      const own = await cost(pid, (pass) => ours(one, pass));
      const theirs = await cost(pid, (pass) => inDatabase(one.table, one.tiles[pass % one.tiles.length]!));
      if (!samples.has(name)) samples.set(name, { ours: [], theirs: [] });
      // The first round warms up.
      if (round > 0) samples.get(name)!.ours.push(own);
      if (round > 0) samples.get(name)!.theirs.push(theirs);
    }
  }
  const all = ({ clientMs, serverMs }: SharedCost) => clientMs + serverMs;
  publish({
    bench: 'tile-types',
    command: `./run bench tile-types --rounds ${rounds}`,
    about: `Tiles of ${ROWS} SYNTHETIC buildings in PostGIS as points, lines and polygons, 4 attributes: our encoder against ST_AsMVT through the same client. CPU of client and database session.`,
    figures: [...samples].map(([name, { ours: own, theirs }]) => ({
      name,
      rounds: {
        'ours, client ms': own.map((c) => c.clientMs),
        'ours, session ms': own.map((c) => c.serverMs),
        'ours, wall ms': own.map((c) => c.wallMs),
        'ST_AsMVT, client ms': theirs.map((c) => c.clientMs),
        'ST_AsMVT, session ms': theirs.map((c) => c.serverMs),
        'ST_AsMVT, wall ms': theirs.map((c) => c.wallMs),
      },
    })),
    ratios: [...samples].map(([name, { ours: own, theirs }]) => ({
      what: `CPU, ST_AsMVT / ours, ${name}`,
      rounds: own.map((c, i) => all(theirs[i]!) / all(c)),
    })),
  });
} finally {
  closeAll();
  await postgres.stop();
}
