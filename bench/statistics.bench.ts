import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fieldStatistics } from '../src/workers/features/statistics/field-statistics.js';
import { closeAll, connect } from '../src/workers/providers/geopackage/connection.js';
import { prepareStore } from '../src/workers/providers/geopackage/schema/create.js';
import { inspectGeoPackage } from '../src/workers/providers/geopackage/schema/inspect.js';
import { option, publish, type Ratio } from './support/report.js';

/** Statistics of all attributes of a table, beside reading the same rows and doing nothing with them. */
const rounds = option('rounds', 3);
const N = option('rows', 1_000_000);
const FIELDS = ['kind', 'name', 'size', 'height', 'built', 'open'];

const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
const path = join(folder, 'rows.gpkg');

/** SYNTHETIC: a name of its own in each row, 40 kinds, whole numbers, skewed numbers, days of 60 years. */
function writeRows(): void {
  const db = connect(path, false);
  prepareStore(db);
  db.exec(`CREATE TABLE places (fid INTEGER PRIMARY KEY, geom POINT, kind TEXT, name TEXT, size INTEGER, height REAL, built DATE, open BOOLEAN);
    INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('places', 'features', 'places', 4326);
    INSERT INTO gpkg_geometry_columns VALUES ('places', 'geom', 'POINT', 4326, 0, 0)`);
  const insert = db.prepare('INSERT INTO places VALUES (?, NULL, ?, ?, ?, ?, ?, ?)');
  let state = 12345;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 4294967296;
  db.transaction(() => {
    for (let i = 1; i <= N; i++) {
      const day = new Date(Date.UTC(1960, 0, 1) + Math.floor(random() * 21_900) * 86_400_000);
      insert.run(
        i,
        `kind ${Math.floor(random() * 40)}`,
        `name ${i}`,
        Math.floor(random() * 100_000),
        Math.exp(10 * random()),
        day.toISOString().slice(0, 10),
        random() < 0.5 ? 1 : 0,
      );
    }
  })();
  db.close();
}

interface Cost {
  cpu: number;
  wall: number;
}

async function costOf(work: () => Promise<number>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const begin = performance.now();
  const read = await work();
  if (read !== N) throw new Error(`${read} of ${N} rows were read`);
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e3, wall: performance.now() - begin };
}

try {
  writeRows();
  const { source } = inspectGeoPackage(path).find((layer) => layer.source.table === 'places')!;
  const limits = { rows: N, ms: Number.POSITIVE_INFINITY };
  const statistics = async () =>
    (await fieldStatistics({ filter: undefined, source, fields: FIELDS }, undefined, limits)).read;
  const { getFeatureStore } = await import('../src/workers/providers/store.js');
  const reading = async () => {
    let read = 0;
    for await (const batch of getFeatureStore(source).rows({
      filter: undefined,
      source,
      fields: FIELDS,
      geometry: false,
      limit: N,
    }))
      read += batch.length;
    return read;
  };
  const columns = () => ({ 'CPU ms': [] as number[], 'wall ms': [] as number[] });
  const figures = { statistics: columns(), 'reading alone': columns() };
  const ratio: Ratio = { what: 'statistics / reading alone, CPU', rounds: [] };
  for (let round = 0; round < rounds; round++) {
    const [whole, alone] = [await costOf(statistics), await costOf(reading)];
    for (const [name, { cpu, wall }] of [
      ['statistics', whole],
      ['reading alone', alone],
    ] as const) {
      figures[name]['CPU ms'].push(cpu);
      figures[name]['wall ms'].push(wall);
    }
    ratio.rounds.push(whole.cpu / alone.cpu);
  }
  publish({
    bench: 'statistics',
    command: './run bench statistics',
    about: `${N.toLocaleString('en')} rows of a GeoPackage, SYNTHETIC: six attributes (two texts, of which one differs in each row, two numbers, a date, a boolean), in one thread.`,
    figures: Object.entries(figures).map(([name, values]) => ({ name, rounds: values })),
    ratios: [ratio],
    notes: [
      'Other work ran on the machine: CPU time counts, wall time does not.',
      `Resident memory at the end: ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB.`,
    ],
  });
} finally {
  closeAll();
  rmSync(folder, { recursive: true, force: true });
}
