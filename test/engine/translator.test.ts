import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { family, titleOf } from '../e2e/support/processes.js';
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
