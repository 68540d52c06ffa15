import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { FeatureProcess } from '../../src/core/processes/feature-processes.js';
import type { GeoPackageSource } from '../../src/core/sources/vector-source.js';
import { startPostgres } from '../../test/support/postgres.js';
import { treeCpuMs } from '../support/peers.js';
import { parcels, sheds, zones } from '../support/polygons.js';
import { option, publishPart, textOption } from '../support/report.js';
import { Costs, costOf } from './costs.js';
import { execute } from './features.js';

/** Processes whose algorithm decides, from file to file, beside PostGIS from table to table, and GeoPandas from file to file. */

const PYTHON = '.cache/peers/zonal/bin/python';
const GOAL = 1.5;

interface Contest {
  name: string;
  process: FeatureProcess;
  left: GeoPackageSource;
  right?: GeoPackageSource;
  /** The query whose rows become a table. */
  sql: string;
}

const MEASURE = { ground: false, perUnit: 1 };

function contests(rows: number): Contest[] {
  const left = parcels(rows, 1000);
  const right = zones(rows / 10, rows);
  const [near, far] = [sheds('sheds', rows), sheds('garages', rows)];
  return [
    {
      ...{ name: 'dissolve', left },
      process: { kind: 'dissolve', by: ['parcels_group'], statistics: [] },
      sql: 'SELECT parcels_group, count(*), ST_Union(geom) AS geom FROM parcels GROUP BY parcels_group',
    },
    {
      ...{ name: 'intersection', left, right },
      process: { kind: 'intersect' },
      sql: `SELECT * FROM (SELECT a.parcels_group, a.parcels_size, b.zones_group, b.zones_size,
          CASE WHEN ST_CoveredBy(a.geom, b.geom) THEN a.geom
            ELSE ST_CollectionExtract(ST_Intersection(a.geom, b.geom), 3) END AS geom
        FROM zones b JOIN parcels a ON ST_Intersects(b.geom, a.geom)) pairs WHERE NOT ST_IsEmpty(geom)`,
    },
    {
      ...{ name: 'join', left, right },
      process: {
        ...{ kind: 'join', predicate: 'intersects', mode: 'each', countName: 'count', statistics: [] },
        innerOnly: true,
      },
      sql: `SELECT a.parcels_group, a.parcels_size, b.zones_group, b.zones_size, a.geom
        FROM zones b JOIN parcels a ON ST_Intersects(b.geom, a.geom)`,
    },
    {
      ...{ name: 'nearest', left: near, right: far },
      process: { kind: 'nearest', count: 1, measure: MEASURE, innerOnly: false },
      sql: `SELECT a.sheds_group, a.sheds_size, b.*, a.geom FROM sheds a CROSS JOIN LATERAL
        (SELECT garages_group, garages_size, garages.geom <-> a.geom AS distance
          FROM garages ORDER BY garages.geom <-> a.geom LIMIT 1) b`,
    },
  ];
}

/** The postmaster of the server in a folder. */
export function postmasterOf(url: string): number {
  const folder = new URL(url).searchParams.get('host')!;
  return Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

export function loadTable(url: string, { path, table }: GeoPackageSource): void {
  const layout = ['-nln', table, '-lco', 'GEOMETRY_NAME=geom', '-lco', 'FID=fid'];
  const args = ['-f', 'PostgreSQL', `PG:${url}`, path, table, ...layout];
  const { status, stderr } = spawnSync('ogr2ogr', args, { env: { ...process.env, PG_USE_COPY: 'YES' } });
  if (status !== 0 || String(stderr).includes('ERROR')) throw new Error(String(stderr));
}

/** Settings that a machine of this size with nothing else to do would get. */
export const SETTINGS = [
  'shared_buffers=2GB',
  'work_mem=512MB',
  'maintenance_work_mem=512MB',
  'jit=off',
  'random_page_cost=1.1',
  'autovacuum=off',
];

export async function measurePeers(): Promise<void> {
  if (!existsSync(PYTHON)) throw new Error('GeoPandas is missing: bench/peers/install.sh fetches it.');
  const [rounds, rows] = [option('rounds', 1), option('features', 100_000)];
  const only = textOption('case');
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const all = contests(rows).filter(({ name }) => only === undefined || only === name);
  const costs = new Costs();
  const postgres = await startPostgres(SETTINGS);
  const client = new pg.Client({ connectionString: postgres.url });
  try {
    await client.connect();
    await client.query('CREATE EXTENSION IF NOT EXISTS postgis');
    const sources = new Map(
      all.flatMap(({ left, right }) => [left, ...(right ? [right] : [])]).map((one) => [one.table, one]),
    );
    for (const source of sources.values()) {
      loadTable(postgres.url, source);
      await client.query(`VACUUM ANALYZE ${source.table}`);
    }
    const { rows: versions } = await client.query(
      'SELECT version() AS server, postgis_full_version() AS postgis',
    );
    const postmaster = postmasterOf(postgres.url);
    const inPostgis = async (sql: string) => {
      const cpu = treeCpuMs(postmaster);
      const begin = performance.now();
      await client.query(`CREATE UNLOGGED TABLE result AS ${sql}`);
      const wall = performance.now() - begin;
      const cost = { cpu: treeCpuMs(postmaster) - cpu, wall };
      const count = Number((await client.query('SELECT count(*) FROM result')).rows[0].count);
      await client.query('DROP TABLE result');
      return { cost, count };
    };
    const inGeopandas = ({ name, left, right }: Contest) => {
      const args = [
        '-W',
        'ignore',
        'bench/support/geopandas_peer.py',
        name,
        left.path,
        right?.path ?? '',
        join(folder, 'peer.gpkg'),
      ];
      return JSON.parse(execFileSync(PYTHON, args, { encoding: 'utf8' }));
    };
    for (let round = 0; round < rounds; round++) {
      for (const contest of all) {
        const { name, left, right } = contest;
        let features = 0;
        const own = await costOf(async () => {
          features = await execute(contest.process, left, join(folder, 'own.gpkg'), right);
        });
        const { cost, count } = await inPostgis(contest.sql);
        const pandas = inGeopandas(contest);
        if (features !== count || Math.abs(pandas.rows - count) > count / 200)
          throw new Error(`${name}: ${features}, ${count} and ${pandas.rows} rows`);
        costs.note(`${name}: Graticule`, own);
        costs.note(`${name}: PostGIS`, cost);
        costs.note(`${name}: GeoPandas`, pandas);
        costs.compare(`${name}: PostGIS / Graticule, CPU`, cost.cpu / own.cpu, { goal: GOAL });
        costs.compare(`${name}: GeoPandas / Graticule, CPU`, pandas.cpu / own.cpu, { goal: GOAL });
        costs.compare(
          `${name}: GeoPandas without reading and writing / Graticule with both, CPU`,
          pandas.operation / own.cpu,
        );
      }
    }
    const python = execFileSync(
      PYTHON,
      [
        '-c',
        'import geopandas, shapely; print(f"GeoPandas {geopandas.__version__}, shapely {shapely.__version__}, GEOS {shapely.geos_version_string}")',
      ],
      { encoding: 'utf8' },
    );
    publishPart(only === undefined ? 'peers' : `peers, ${only}`, {
      bench: 'processes',
      command: `./run bench processes --part peers${only === undefined ? '' : ` --case ${only}`}`,
      about: `${rows.toLocaleString('en')} polygons, SYNTHETIC. Dissolve: parcels of 17 positions that share uneven edges, into 1,000 groups. Intersection and join: the same with a tenth as many larger ones over them. Nearest: small polygons of 13 positions, each with the nearest of as many others. Graticule goes from GeoPackage to GeoPackage in one process; PostGIS from indexed, analysed tables into an unlogged table (${SETTINGS.join(', ')}; parallel as it decides; CPU of all its processes); GeoPandas from GeoPackage to GeoPackage. Rows are counted and compared; GeoPandas gives all of several nearest ones that are equally far.`,
      figures: costs.figures,
      ratios: costs.ratios,
      notes: [
        `${versions[0].server.split(' on ')[0]}; ${versions[0].postgis.replaceAll('"', '')}.`,
        `${python.trim()}; ours GEOS 3.11.`,
      ],
    });
  } finally {
    await client.end();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
