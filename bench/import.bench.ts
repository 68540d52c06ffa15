import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openAsBlob, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { option, publish } from './support/report.js';
import { startGraticule } from './support/server.js';

/**
 * Files to served layers over the management API: from the first byte that is sent to the first page of the collection.
 * Beside it: ogr2ogr of the same file into the same kind of store, a GeoPackage with a spatial index.
 */
const rounds = option('rounds', 5);
const FEATURES = option('features', 100_000);
const PORT = 18_087;
const KEY = 'bench-bench-bench-bench';

const work = mkdtempSync(join(tmpdir(), 'graticule-import-'));
const KINDS: readonly (readonly [name: string, driver: string])[] = [
  ['polygons.geojson', 'GeoJSON'],
  ['polygons.fgb', 'FlatGeobuf'],
  ['polygons.gpkg', 'GPKG'],
  ['polygons.csv', 'CSV'],
];

/** Polygons of 13 vertices with five attributes, from one SQL statement. */
function makeFiles(): void {
  const origin = join(work, 'origin.gpkg');
  const sql = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${FEATURES})
    SELECT i AS number, 'Name of feature ' || i AS name, i * 1.5 AS size, i % 7 AS class, date('2020-01-01', i % 1000 || ' days') AS day,
      ST_Buffer(MakePoint(-180 + (i * 7919 % 360000) / 1000.0, -80 + (i * 104729 % 160000) / 1000.0, 4326), 0.01, 3) AS geometry
    FROM n`;
  execFileSync(
    'ogr2ogr',
    [
      '-f',
      'GPKG',
      origin,
      'demo/data/world_map.gpkg',
      '-dialect',
      'SQLite',
      '-sql',
      sql,
      '-nln',
      'polygons',
      '-nlt',
      'POLYGON',
    ],
    { stdio: 'ignore' },
  );
  for (const [name, driver] of KINDS) {
    const geometry = driver === 'CSV' ? ['-lco', 'GEOMETRY=AS_WKT'] : [];
    execFileSync('ogr2ogr', ['-f', driver, join(work, name), origin, 'polygons', ...geometry], {
      stdio: 'ignore',
    });
  }
  rmSync(origin);
}

/** Seconds until the collection of an upload answers. */
async function imported(origin: string, name: string, table: string): Promise<number> {
  const began = performance.now();
  const form = new FormData();
  form.append('TableName', table);
  form.append('ForceBackground', 'false');
  form.append('SourceSrid', '4326');
  form.append('file', await openAsBlob(join(work, name)), name);
  const headers = { 'x-api-key': KEY };
  const answer = await fetch(`${origin}/api/v1/admin/import/upload`, { method: 'POST', headers, body: form });
  if (answer.status > 202) throw new Error(await answer.text());
  for (;;) {
    const page = await fetch(`${origin}/ogc/features/collections/${table}/items?limit=10`);
    if (page.status === 200) {
      const { numberMatched } = (await page.json()) as { numberMatched?: number };
      if (numberMatched !== undefined && numberMatched !== FEATURES)
        throw new Error(`${numberMatched} of ${FEATURES} features are there`);
      return (performance.now() - began) / 1000;
    }
    await page.arrayBuffer();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Seconds of ogr2ogr. */
async function converted(name: string, driver: string): Promise<number> {
  const target = join(work, `peer-${basename(name)}.gpkg`);
  const open =
    driver === 'CSV'
      ? ['-oo', 'GEOM_POSSIBLE_NAMES=WKT', '-oo', 'AUTODETECT_TYPE=YES', '-a_srs', 'EPSG:4326']
      : [];
  const args = [
    '-f',
    'GPKG',
    target,
    join(work, name),
    '-nln',
    'polygons',
    '-lco',
    'SPATIAL_INDEX=YES',
    '-gt',
    '100000',
    ...open,
  ];
  const began = performance.now();
  const [code] = (await once(spawn('ogr2ogr', args, { stdio: 'ignore' }), 'exit')) as [number];
  if (code !== 0) throw new Error(`ogr2ogr fails on ${name}`);
  const seconds = (performance.now() - began) / 1000;
  rmSync(target);
  return seconds;
}

makeFiles();
const server = await startGraticule([], { port: PORT, cores: '0,1', env: { SVC_ADMIN_KEY: KEY } });
const figures = KINDS.map(([name]) => ({
  name,
  rounds: { 'served, s': [] as number[], 'ogr2ogr, s': [] as number[] },
}));
try {
  for (let round = 0; round <= rounds; round++) {
    for (const [i, [name, driver]] of KINDS.entries()) {
      const own = await imported(server.origin, name, `t${round}_${i}`);
      const peer = await converted(name, driver);
      // The first round fills the caches of the system.
      if (round === 0) continue;
      figures[i]!.rounds['served, s'].push(own);
      figures[i]!.rounds['ogr2ogr, s'].push(peer);
    }
  }
} finally {
  await server.stop();
  rmSync(work, { recursive: true });
}

publish({
  bench: 'import',
  command: `./run bench import --features ${FEATURES} --rounds ${rounds}`,
  about: `Seconds from the first byte of an upload to the first page of the collection that it becomes, of ${FEATURES} polygons of 13 vertices with five attributes; and of ogr2ogr of the same file into a GeoPackage with a spatial index, in transactions of 100,000 features.`,
  figures,
  ratios: figures.map(({ name, rounds: { 'served, s': own, 'ogr2ogr, s': peer } }) => ({
    what: `ogr2ogr / Graticule, ${name}`,
    rounds: peer.map((seconds, i) => seconds / own[i]!),
    goal: 1,
  })),
  notes: [
    'Against Graticule: the upload itself, rows stored along a Hilbert curve with an index of their ids, and the collection described and shown by every process.',
    'In favour of Graticule: it runs already, where ogr2ogr starts anew for each file (some 50 ms).',
  ],
});
