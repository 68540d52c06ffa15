import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { FeatureProcess, ProcessFeatures } from '../../src/core/processes/feature-processes.js';
import { processFeatures } from '../../src/workers/processes/features.js';
import { closeAll } from '../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../src/workers/providers/postgis/schema/discover.js';
import { startPostgres } from '../../test/support/postgres.js';
import { treeCpuMs } from '../support/peers.js';
import { parcels, sheds, zones } from '../support/polygons.js';
import { option, publishPart, textOption } from '../support/report.js';
import { Costs, costOf } from './costs.js';
import { loadTable, postmasterOf, SETTINGS } from './peers.js';

/** Processes over tables of one PostGIS database: computed by it as one statement, and by us from its rows. */

interface Case {
  name: string;
  process: FeatureProcess;
  input: string;
  overlay?: string;
  /** Fields that are read; all when absent. */
  fields?: string[];
}

const MEASURE = { ground: false, perUnit: 1 };
const JOIN = { kind: 'join', predicate: 'intersects', countName: 'n', innerOnly: false } as const;

const CASES: readonly Case[] = [
  {
    ...{ name: 'summary', input: 'parcels', fields: ['parcels_group', 'parcels_size'] },
    process: {
      ...{ kind: 'summarize', by: ['parcels_group'] },
      statistics: [{ type: 'avg', field: 'parcels_size', name: 'mean' }],
      percentiles: [{ share: 0.5, field: 'parcels_size', name: 'median' }],
    },
  },
  {
    ...{ name: 'join, counted', input: 'zones', overlay: 'parcels' },
    process: { ...JOIN, mode: 'count', statistics: [{ type: 'sum', field: 'parcels_size', name: 'sum' }] },
  },
  {
    ...{ name: 'join, each', input: 'parcels', overlay: 'zones' },
    process: { ...JOIN, mode: 'each', statistics: [] },
  },
  {
    ...{ name: 'join, first within', input: 'sheds', overlay: 'garages' },
    process: {
      ...{ ...JOIN, predicate: 'dwithin', reach: { distance: 20, ground: false } },
      ...{ mode: 'first', statistics: [] },
    },
  },
  {
    ...{ name: 'nearest', input: 'sheds', overlay: 'garages' },
    process: { kind: 'nearest', count: 1, measure: MEASURE, innerOnly: false },
  },
  {
    ...{ name: 'centroid', input: 'parcels' },
    process: { kind: 'map', operation: { name: 'centroid' } },
  },
  {
    ...{ name: 'convex hull', input: 'parcels' },
    process: { kind: 'map', operation: { name: 'convex-hull' } },
  },
  {
    ...{ name: 'simplify', input: 'parcels' },
    process: { kind: 'map', operation: { name: 'simplify-topology', distance: 1 } },
  },
  {
    ...{ name: 'buffer', input: 'parcels' },
    process: { kind: 'map', operation: { name: 'buffer', distance: 5 } },
  },
];

export async function measurePushDown(): Promise<void> {
  const [rounds, rows] = [option('rounds', 1), option('features', 100_000)];
  const only = textOption('case');
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const costs = new Costs();
  const postgres = await startPostgres(SETTINGS);
  const client = new pg.Client({ connectionString: postgres.url });
  try {
    await client.connect();
    await client.query('CREATE EXTENSION IF NOT EXISTS postgis');
    const tables = [
      parcels(rows, 1000),
      zones(rows / 10, rows),
      sheds('sheds', rows),
      sheds('garages', rows),
    ];
    for (const source of tables) {
      loadTable(postgres.url, source);
      await client.query(`VACUUM ANALYZE ${source.table}`);
    }
    const { layers } = await discoverTables({ database: postgres.url });
    const featuresOf = (table: string, fields?: string[]): ProcessFeatures => {
      const { source } = layers.find((layer) => layer.source.table === table)!;
      return { source, filter: undefined, fields: fields ?? source.fields.map(({ name }) => name) };
    };
    const postmaster = postmasterOf(postgres.url);
    const costsOf = async ({ process, input, overlay, fields }: Case, pushDown: boolean) => {
      const cpu = treeCpuMs(postmaster);
      let features = 0;
      const own = await costOf(async () => {
        const result = await processFeatures({
          ...{ process, pushDown, output: join(folder, 'result.gpkg'), count: new SharedArrayBuffer(4) },
          input: featuresOf(input, fields),
          ...(overlay === undefined ? {} : { overlay: featuresOf(overlay) }),
        });
        if (result.pushDownFault !== undefined || result.faults > 0) throw new Error(JSON.stringify(result));
        features = result.features;
      });
      return { own, database: treeCpuMs(postmaster) - cpu, features };
    };
    const all = CASES.filter(({ name }) => only === undefined || only === name);
    for (let round = 0; round < rounds; round++) {
      for (const one of all) {
        const [pushed, here] = [await costsOf(one, true), await costsOf(one, false)];
        if (pushed.features !== here.features)
          throw new Error(`${one.name}: ${pushed.features} and ${here.features} rows`);
        for (const [how, { own, database }] of Object.entries({ 'pushed down': pushed, here })) {
          costs.note(`${one.name}, ${how}: both`, { cpu: own.cpu + database, wall: own.wall });
          costs.note(`${one.name}, ${how}: PostgreSQL`, { cpu: database, wall: own.wall });
        }
        const total = (cost: typeof here) => cost.own.cpu + cost.database;
        costs.compare(`${one.name}: here / pushed down, CPU of both`, total(here) / total(pushed));
        costs.compare(`${one.name}: here / pushed down, wall`, here.own.wall / pushed.own.wall);
      }
    }
    publishPart(only === undefined ? 'push-down' : `push-down, ${only}`, {
      bench: 'processes',
      command: `./run bench processes --part push-down${only === undefined ? '' : ` --case ${only}`}${rounds === 1 ? '' : ` --rounds ${rounds}`}`,
      about: `${rows.toLocaleString('en')} polygons, SYNTHETIC, in indexed, analysed tables of PostGIS (${SETTINGS.join(', ')}): parcels of 17 positions, a tenth as many zones over them, and small polygons of 13 positions. Pushed down: PostGIS computes by one statement, and the process writes the rows into a GeoPackage. Here: the process reads the rows and computes. CPU is that of the process and of PostgreSQL.`,
      figures: costs.figures,
      ratios: costs.ratios,
    });
  } finally {
    closeAll();
    await client.end();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
