import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import Database from '../../src/native/sqlite.js';
import { family, titleOf } from '../support/processes.js';
import { eventually, suiteEngine } from './support.js';

/** The process that translates files goes on after one that it refuses, and takes no file down with it. */

const suite = suiteEngine();
const file = (name: string) => join(suite.scratch.path, name);

let outputs = 0;
const translate = (path: string) =>
  suite.pool.run('ogr.translate', {
    path,
    output: file(`staged-${++outputs}.gpkg`),
    table: 'staged',
    assumeCrs: 'EPSG:4326',
  });

const translators = () =>
  family(suite.engine.process.pid!).filter((pid) => titleOf(pid) === 'graticule: engine import');

function places(rows: number): string {
  const path = file(`places-${rows}.csv`);
  const lines = Array.from({ length: rows }, (_, i) => `p${i},${i % 180},${i % 90}`);
  writeFileSync(path, `name,lon,lat\n${lines.join('\n')}\n`);
  return path;
}

it('goes on after a file that is refused', async () => {
  const small = places(2);
  expect(await translate(small)).toEqual({ features: 2 });
  const before = translators();
  expect(before).toHaveLength(1);
  writeFileSync(file('broken.geojson'), '{"type":"FeatureCollection","features":[{"type":"Fea');
  await expect(translate(file('broken.geojson'))).rejects.toMatchObject({ code: 'source-unreadable' });
  expect(await translate(small)).toEqual({ features: 2 });
  expect(translators()).toEqual(before);
});

it('gives a file to a new process when one that had others crashes', async () => {
  await translate(places(2));
  const [used] = translators();
  const result = translate(places(200_000));
  await eventually(() => readdirSync(suite.scratch.path).some((name) => name.includes(`.part-${used}`)));
  process.kill(used!, 'SIGKILL');
  expect(await result).toEqual({ features: 200_000 });
  expect(translators()).not.toContain(used);
  expect(readdirSync(suite.scratch.path).filter((name) => name.includes('.part-'))).toEqual([]);
});

/** A GeoPackage whose one layer is a view without an end. */
function endlessFile(): string {
  const path = file('endless.gpkg');
  const row = { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: {} };
  writeFileSync(file('one.geojson'), JSON.stringify({ type: 'FeatureCollection', features: [row] }));
  execFileSync('ogr2ogr', ['-f', 'GPKG', '-nln', 'points', path, file('one.geojson')]);
  const db = new Database(path);
  // Constraints are no matter here: a hostile file keeps none.
  db.pragma('foreign_keys = OFF');
  db.exec(`
    CREATE VIEW endless AS WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t)
      SELECT t.i AS fid, points.geom AS geom FROM t, points;
    UPDATE gpkg_contents SET table_name = 'endless', identifier = 'endless';
    UPDATE gpkg_geometry_columns SET table_name = 'endless';
    DELETE FROM gpkg_ogr_contents;
    PRAGMA journal_mode = DELETE;`);
  db.close();
  return path;
}

it('ends with its time, whatever the file does', async () => {
  const path = endlessFile();
  const late = suite.pool.run('ogr.preview', { path }, { deadlineMs: 1500 });
  await expect(late).rejects.toMatchObject({ code: 'deadline-exceeded' });
  await eventually(() => translators().every((pid) => !isBusy(pid)));
  const output = file('endless-staged.gpkg');
  const stage = { path, output, table: 'staged', isUnpacked: false, limitMs: 1500 };
  await expect(suite.pool.run('ogr.stage', stage)).rejects.toMatchObject({
    code: 'too-large',
    message: 'Reading the file takes longer than 1.5 seconds.',
  });
  await eventually(() => translators().every((pid) => !isBusy(pid)));
  expect(readdirSync(suite.scratch.path).filter((name) => /endless-staged|endless.*-/.test(name))).toEqual(
    [],
  );
  // Others are read meanwhile and afterwards.
  expect(await suite.pool.run('ogr.preview', { path: file('one.geojson') })).toMatchObject({
    layer: { featureCount: 1 },
    sample: '{}',
  });
});

/** Whether a process used the processor since it was last asked. */
const ticks = new Map<number, string>();
function isBusy(pid: number): boolean {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 13);
  const now = `${user} ${system}`;
  const before = ticks.get(pid);
  ticks.set(pid, now);
  return before !== now;
}

it('leaves nothing beside a file that it reads', async () => {
  const gml = file('towns.gml');
  execFileSync('ogr2ogr', ['-f', 'GML', '-dsco', 'XSISCHEMA=OFF', gml, file('one.geojson')]);
  rmSync(file('towns.gfs'), { force: true });
  const before = readdirSync(suite.scratch.path).filter((name) => name.startsWith('towns.'));
  for (let i = 0; i < 2; i++) {
    const { layer } = await suite.pool.run('ogr.preview', { path: gml });
    expect(layer).toMatchObject({ featureCount: 1 });
    expect(await suite.pool.run('ogr.inspect', { path: gml })).toHaveLength(1);
    expect(readdirSync(suite.scratch.path).filter((name) => name.startsWith('towns.'))).toEqual(before);
  }
  // One that somebody else has put there stays.
  writeFileSync(file('towns.gfs'), '<GMLFeatureClassList></GMLFeatureClassList>');
  await suite.pool.run('ogr.preview', { path: gml }).catch(() => {});
  expect(readdirSync(suite.scratch.path)).toContain('towns.gfs');
});
