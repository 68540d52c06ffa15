import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect } from 'vitest';
import type { FeatureProcessResult, ProcessFeatures } from '../../src/core/processes/feature-processes.js';
import { PROCESS_LIMITS } from '../../src/core/processes/limits.js';
import { describeCrs, geojsonToWkb, wkbToGeoPackage } from '../../src/native/index.js';
import Database from '../../src/native/sqlite.js';
import { PROCESSES } from '../../src/services/processes/catalogue/index.js';
import type { FeaturesFacts } from '../../src/services/processes/definition.js';
import { processFeatures } from '../../src/workers/processes/features.js';
import { stageFeatures } from '../../src/workers/processes/stage.js';
import { FeatureTable } from '../../src/workers/processes/table.js';
import { inspectGeoPackage } from '../../src/workers/providers/geopackage/schema/inspect.js';
import { closeAll } from '../../src/workers/providers/postgis/connections/database.js';
import { discoverTables } from '../../src/workers/providers/postgis/schema/discover.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';

/** Processes of features beside PostGIS, on countries and their provinces. */

/** A GeoPackage blob as hexadecimal WKB. */
function wkbOf(blob: Buffer): string {
  const envelope = [0, 32, 48, 48, 64][(blob[3]! >> 1) & 7]!;
  return blob.subarray(8 + envelope).toString('hex');
}

export function rowsOf(path: string): { geometry: string | null; row: Record<string, unknown> }[] {
  const { source } = inspectGeoPackage(path)[0]!;
  const db = new Database(path, { readonly: true });
  const rows = db.prepare(`SELECT * FROM "${source.table}" ORDER BY 1`).all() as Record<string, unknown>[];
  db.close();
  return rows.map((row) => {
    const blob = row[source.geometryColumn] as Buffer | null;
    return { geometry: blob && wkbOf(blob), row };
  });
}

export function featuresOf(path: string): ProcessFeatures {
  const { source } = inspectGeoPackage(path)[0]!;
  return { source, filter: undefined, fields: source.fields.map(({ name }) => name) };
}

function factsOf({ source, fields }: ProcessFeatures): FeaturesFacts {
  const { isGeographic, metresPerUnit } = describeCrs(source.crs);
  return { source, fields, crs: { isGeographic, metresPerUnit } };
}

/** The largest deviation of rows, one by one: of areas the share that only one covers, else the Hausdorff distance. */
const DEVIATION = `
  WITH theirs AS (SELECT row_number() OVER () AS n, ST_SetSRID(geom, 0) AS geom FROM (%s) t),
    us AS (SELECT row_number() OVER (ORDER BY id) AS n, ST_SetSRID(geom, 0) AS geom FROM ours)
  SELECT (SELECT count(*) FROM theirs)::int AS theirs, (SELECT count(*) FROM us)::int AS us,
    max(CASE WHEN ST_OrderingEquals(us.geom, theirs.geom) THEN 0
      WHEN ST_Dimension(theirs.geom) = 2 THEN
        ST_Area(ST_SymDifference(ST_MakeValid(us.geom), ST_MakeValid(theirs.geom))) / greatest(1e-30, ST_Area(theirs.geom))
      ELSE ST_HausdorffDistance(us.geom, theirs.geom) END) AS deviation
  FROM us JOIN theirs USING (n)`;

export interface Point {
  x: number;
  y: number;
  value: number;
}

const CRS84 = 'OGC:CRS84';

export interface ProcessRun {
  result: FeatureProcessResult;
  rows: Record<string, unknown>[];
  path: string;
}

/** Does it under other limits. */
export async function underLimits(
  limits: Partial<Record<keyof typeof PROCESS_LIMITS, number>>,
  body: () => Promise<void>,
): Promise<void> {
  const usual = { ...PROCESS_LIMITS };
  Object.assign(PROCESS_LIMITS, limits);
  try {
    await body();
  } finally {
    Object.assign(PROCESS_LIMITS, usual);
  }
}

export class Reference {
  #runs = 0;

  private constructor(
    readonly folder: string,
    private readonly postgres: TestPostgres,
    readonly sql: pg.Client,
  ) {}

  /** Tables `countries` and `provinces` (id, code, geom in WGS 84), and files of the same. */
  static async start(): Promise<Reference> {
    const folder = mkdtempSync(join(tmpdir(), 'graticule-catalogue-'));
    const postgres = await startPostgres();
    const sql = new pg.Client({ connectionString: postgres.url });
    await sql.connect();
    await sql.query('CREATE EXTENSION IF NOT EXISTS postgis');
    const reference = new Reference(folder, postgres, sql);
    const layers = [
      ['countries', 'countries', "iso_a2 IN ('CH','AT','IT','BE','DK','LU')"],
      ['provinces', 'states_provinces', "iso_a2 IN ('CH','AT')"],
    ] as const;
    for (const [table, layer, where] of layers) {
      const options = ['-q', '-nln', 'layer', '-where', where];
      execFileSync('ogr2ogr', [...options, reference.file(table), 'demo/data/world_map.gpkg', layer]);
      await reference.load(table, reference.file(table), { id: 'fid', code: 'iso_a2' });
    }
    await sql.query('CREATE TABLE ours (id serial, geom geometry)');
    return reference;
  }

  async stop(): Promise<void> {
    closeAll();
    await this.sql.end();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.folder, `${name}.gpkg`);
  }

  /** A table with columns of the file. */
  async load(table: string, path: string, { id, code }: { id: string; code: string }): Promise<void> {
    await this.sql.query(`CREATE TABLE ${table} (id int, code text, geom geometry)`);
    const rows = rowsOf(path).map(({ geometry, row }) => ({ id: row[id], code: row[code], geometry }));
    await this.sql.query(
      `INSERT INTO ${table} SELECT id, code, ST_SetSRID(geometry::geometry, 4326)
        FROM json_to_recordset($1) AS r (id int, code text, geometry text)`,
      [JSON.stringify(rows)],
    );
  }

  /** The points as a file, and as a table with an index (id, value, geom in the CRS). */
  async points(name: string, srid: number, points: readonly Point[]): Promise<void> {
    const file = FeatureTable.create(this.file(name), `EPSG:${srid}`, [{ name: 'value', type: 'number' }]);
    for (const { x, y, value } of points) {
      const wkb = geojsonToWkb({ type: 'Point', coordinates: [x, y] }, { from: CRS84, to: CRS84 });
      file.add(wkbToGeoPackage(wkb, file.srsId), [value]);
    }
    file.finish();
    await this.sql.query(`CREATE TABLE ${name} AS SELECT row_number() OVER ()::int AS id, value,
      ST_SetSRID(ST_Point(x, y), ${srid}) AS geom
      FROM ROWS FROM (json_to_recordset('${JSON.stringify(points)}') AS (x float8, y float8, value float8)) p`);
    await this.sql.query(`CREATE INDEX ON ${name} USING gist (geom); ANALYZE ${name}`);
  }

  /** GeoJSON features as a file. */
  stage(name: string, features: readonly { geometry: unknown; properties: unknown }[]): string {
    const path = join(this.folder, `${name}.geojson`);
    const list = features.map((feature) => ({ type: 'Feature', ...feature }));
    writeFileSync(path, JSON.stringify({ type: 'FeatureCollection', features: list }));
    stageFeatures({ path, output: this.file(name) });
    return this.file(name);
  }

  /** A table of the database. */
  async table(name: string): Promise<ProcessFeatures> {
    const { layers } = await discoverTables({ database: this.postgres.url });
    const { source } = layers.find((layer) => layer.source.table === name)!;
    return { source, filter: undefined, fields: source.fields.map((field) => field.name) };
  }

  async query(sql: string): Promise<Record<string, unknown>[]> {
    return (await this.sql.query(sql)).rows;
  }

  /** Does a process to a file; its rows are in the table `ours` then. */
  async run(
    id: string,
    values: Record<string, unknown>,
    input: string | ProcessFeatures = this.file('countries'),
    overlay = this.file('provinces'),
  ): Promise<ProcessRun> {
    const { work } = PROCESSES.get(id)!;
    if (work.kind !== 'features') throw new Error(`${id} is not of features`);
    const features = typeof input === 'string' ? featuresOf(input) : input;
    const other = work.overlay ? featuresOf(overlay) : undefined;
    const { process, fields } = work.plan(values, factsOf(features), other && factsOf(other));
    const path = join(this.folder, `result-${this.#runs++}.gpkg`);
    const result = await processFeatures({
      ...{ process, output: path, count: new SharedArrayBuffer(4) },
      input: { ...features, ...(fields ? { fields: [...fields] } : {}) },
      ...(other ? { overlay: other } : {}),
    });
    const rows = result.features === 0 ? [] : rowsOf(path);
    await this.sql.query('TRUNCATE ours RESTART IDENTITY');
    await this.sql.query('INSERT INTO ours (geom) SELECT g::geometry FROM unnest($1::text[]) g', [
      rows.map(({ geometry }) => geometry),
    ]);
    return { result, rows: rows.map(({ row }) => row), path };
  }

  async deviationFrom(query: string): Promise<{ theirs: number; us: number; deviation: number }> {
    return (await this.sql.query(DEVIATION.replace('%s', query))).rows[0];
  }
}

export const numbers = (rows: readonly Record<string, unknown>[], name: string) =>
  rows.map((row) => Number(row[name]));

/** Numbers are those of the reference, in any order, but for a share of each; the largest one is noted. */
export function expectSame(id: string, ours: number[], theirs: number[], most: number): void {
  expect(ours).toHaveLength(theirs.length);
  const lists = [ours, theirs].map((list) => [...list].sort((a, b) => a - b));
  const apart = lists[0]!.map((value, i) => {
    const other = lists[1]![i]!;
    return Math.abs(value - other) / Math.max(1e-9, Math.abs(other));
  });
  const largest = Math.max(0, ...apart);
  note(id, largest);
  expect(largest).toBeLessThanOrEqual(most);
}

/** DEVIATIONS names a file that what was found is appended to, for the table in docs/reference/apis/process-accuracy.md. */
export function note(id: string, deviation: number): void {
  const file = process.env['DEVIATIONS'];
  if (file) appendFileSync(file, `${id} ${deviation.toPrecision(2)}\n`);
}
