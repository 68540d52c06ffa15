import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { stage } from '../../src/workers/exchange/ogr/stage.js';

/** Warnings about text that is not UTF-8. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-text-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const features = (names: readonly string[]) =>
  JSON.stringify({
    type: 'FeatureCollection',
    features: names.map((name) => ({
      type: 'Feature',
      properties: { ascii: 'x', name },
      geometry: { type: 'Point', coordinates: [8, 47] },
    })),
  });

let count = 0;
async function notesOf(name: string, content: Buffer | string, keepsValues = false) {
  const path = join(folder, name);
  writeFileSync(path, content);
  const output = join(folder, `${++count}.gpkg`);
  const staged = await stage(
    { path, output, table: 'staged', keepsValues, mayLackCrs: true } as never,
    `${output}.part`,
    () => {},
  );
  return 'notes' in staged ? staged.notes : undefined;
}

const LATIN = Buffer.from(features(['Bern', 'Zürich', 'Genève', 'Neuchâtel']), 'latin1');

it('names the first value, and the probable encoding of GeoJSON that is not UTF-8', async () => {
  expect(await notesOf('latin1.geojson', LATIN)).toEqual([
    'The file is not UTF-8, as JSON must be. 3 values of 1 property are damaged: the first one is name of feature 2, "Z�rich". The encoding is probably windows-1252. Save the file as UTF-8.',
  ]);
});

it('names text of XML in another encoding than stated', async () => {
  const kml = (name: string) =>
    `<?xml version="1.0" encoding="UTF-8"?><kml xmlns="http://www.opengis.net/kml/2.2"><Document><Placemark><name>${name}</name><Point><coordinates>8,47</coordinates></Point></Placemark></Document></kml>`;
  await expect(notesOf('latin1.kml', Buffer.from(kml('Zürich'), 'latin1'))).rejects.toMatchObject({
    code: 'source-unreadable',
  });
});

it('warns of replaced characters in files of UTF-8, also in text that is kept as it is', async () => {
  const text = features(['Bern', 'Z\uFFFDrich']);
  expect(await notesOf('replaced.geojson', text)).toEqual([
    'Characters of the file are replaced by U+FFFD (�), because a program read them in a wrong encoding. 1 value is damaged: name of feature 2, "Z�rich". Export the data again from its origin.',
  ]);
  expect(await notesOf('kept.geojson', text, true)).toEqual([
    'Characters of the file are replaced by U+FFFD (�), because a program read them in a wrong encoding. Features: 1, the first one is feature 2. Export the data again from its origin.',
  ]);
  expect(await notesOf('cut.csv', `name,lon,lat\nZ\uFFFDrich,8,47\n`)).toEqual([
    expect.stringContaining('1 value is damaged: name of feature 1, "Z�rich"'),
  ]);
});

it('is silent about valid text', async () => {
  expect((await notesOf('valid.geojson', features(['Zürich', '東京', '🗺']))) ?? []).toEqual([]);
});
