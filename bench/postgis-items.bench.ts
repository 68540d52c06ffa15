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
import { loadBuildings, type SharedCost, sharedCost } from './support/postgis.js';
import { option, publish } from './support/report.js';

/**
 * A page of 1,000 polygons and a tile of 5,000 out of PostGIS: rows in binary, written here, against the same answers
 * made inside the database by json_agg(ST_AsGeoJSON(t.*)) and ST_AsMVT and read by the same client.
 */
const rounds = option('rounds', 15);
const passes = option('passes', 20);
const ROWS = 200_000;
const LIMIT = 1000;
const OFFSET = 1000;

const postgres = await startPostgres(['shared_buffers=512MB']);
limitConnections(1);

const ask = (sql: string, params: PgParams = []): Promise<PgValue[][]> =>
  withConnection(postgres.url, (connection: PostgresConnection) => connection.query(sql, params));

const cost = (pid: number, work: (pass: number) => Promise<unknown>): Promise<SharedCost> =>
  sharedCost(pid, work, (done) => done === passes);

try {
  loadBuildings(postgres.url, 'buildings_4326', ROWS, 4326);
  loadBuildings(postgres.url, 'buildings_3857', ROWS, 3857);
  await ask('ANALYZE');
  const { layers } = await discoverTables({ database: postgres.url });
  const sourceOf = (crs: number) =>
    layers.find(({ source }) => source.table === `buildings_${crs}`)!.source as PostgisSource;

  const items = () =>
    postgisStore.items({
      filter: undefined,
      format: 'geojson',
      source: sourceOf(4326),
      limit: LIMIT,
      offset: OFFSET,
      crs: 'OGC:CRS84',
      swapAxes: false,
      precision: 7,
    });
  const inDatabase = () =>
    ask(
      `SELECT json_agg(ST_AsGeoJSON(t.*, 'geom', 7)::json)::text FROM
       (SELECT * FROM public.buildings_4326 ORDER BY fid LIMIT $1::int8 OFFSET $2::int8) t`,
      [String(LIMIT), String(OFFSET)],
    );

  const tiles = tilesInside(ROWS, 16);
  const tileTask = (bbox: Box): VectorTileTask => ({
    layers: [],
    crs: 'EPSG:3857',
    bbox,
    extent: 4096,
    buffer: 64,
    simplify: 0.5,
    encoding: 'identity',
  });
  const tile = (pass: number) =>
    postgisStore.tileLayer(tileTask(tiles[pass % tiles.length]!), {
      filter: undefined,
      name: 'buildings',
      source: sourceOf(3857),
    });
  const tileInDatabase = (pass: number) =>
    ask(
      `SELECT ST_AsMVT(t.*, 'buildings', 4096, 'g', 'fid') FROM (
         SELECT ST_AsMVTGeom(geom, ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8, 3857), 4096, 64) AS g,
           fid, name, kind, levels, height FROM public.buildings_3857
         WHERE geom && ST_Expand(ST_MakeEnvelope($1::float8, $2::float8, $3::float8, $4::float8, 3857),
           ($3::float8 - $1::float8) / 64)) t`,
      tiles[pass % tiles.length]!.map(String),
    );

  const features = async () => {
    const ours = JSON.parse(`[${Buffer.from((await items()).features).toString()}]`) as { id: number }[];
    const theirs = JSON.parse(String((await inDatabase())[0]![0])) as { properties: { fid: number } }[];
    const same = ours.every(({ id }, i) => id === theirs[i]!.properties.fid);
    if (ours.length !== LIMIT || !same) throw new Error('the pages differ');
  };
  await features();
  const { features: inTile } = await tile(0);

  const [[pid]] = (await ask('SELECT pg_backend_pid()')) as [[number]];
  const contenders: Record<string, (pass: number) => Promise<unknown>> = {
    items,
    'json_agg(ST_AsGeoJSON)': inDatabase,
    tile,
    ST_AsMVT: tileInDatabase,
  };
  const samples: Record<string, SharedCost[]> = {};
  for (let n = 0; n <= rounds; n++) {
    for (const [name, work] of Object.entries(contenders)) {
      const sample = await cost(pid, work);
      samples[name] ??= [];
      // The first round warms up.
      if (n > 0) samples[name].push(sample);
    }
  }
  const all = ({ clientMs, serverMs }: SharedCost) => clientMs + serverMs;
  const ratio = (theirs: string, ours: string, of: (cost: SharedCost) => number) =>
    samples[theirs]!.map((sample, i) => of(sample) / of(samples[ours]![i]!));
  publish({
    bench: 'postgis-items',
    command: `./run bench postgis-items --rounds ${rounds} --passes ${passes}`,
    about: `A page of ${LIMIT} features at offset ${OFFSET} and tiles of about ${inTile} features out of ${ROWS} SYNTHETIC building polygons in PostGIS, one connection. "json_agg(ST_AsGeoJSON)" and "ST_AsMVT" make the same answers inside the database, read by the same client. CPU counts this process and the database's session together.`,
    figures: Object.entries(samples).map(([name, costs]) => ({
      name,
      rounds: {
        'wall ms': costs.map(({ wallMs }) => wallMs),
        'client CPU ms': costs.map(({ clientMs }) => clientMs),
        'server CPU ms': costs.map(({ serverMs }) => serverMs),
      },
    })),
    ratios: [
      {
        what: 'CPU of both, json_agg(ST_AsGeoJSON) / items',
        rounds: ratio('json_agg(ST_AsGeoJSON)', 'items', all),
      },
      {
        what: 'wall, json_agg(ST_AsGeoJSON) / items',
        rounds: ratio('json_agg(ST_AsGeoJSON)', 'items', (c) => c.wallMs),
      },
      { what: 'CPU of both, ST_AsMVT / tile', rounds: ratio('ST_AsMVT', 'tile', all) },
      { what: 'wall, ST_AsMVT / tile', rounds: ratio('ST_AsMVT', 'tile', (c) => c.wallMs) },
    ],
  });
} finally {
  closeAll();
  await postgres.stop();
}
