import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { basename, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { nameFeatures, noteDataset } from '../../gdal/dataset-notes.js';
import { type Dataset, openWith } from '../../gdal/gdal.js';
import { openInScratch } from '../../gdal/scratch.js';
import { PropertyScanner } from './scanner.js';
import { noteTopology } from './topology.js';
import { type Form, findReplacement, PropertyFacts, type ValueReadOptions } from './values.js';

const CHUNK_BYTES = 1 << 20;

/**
 * Opens GeoJSON or a related format. Properties whose values GDAL would change have another form in a copy, which is
 * removed with the dataset.
 */
export async function openJson(
  path: string,
  drivers: readonly string[],
  exactness: ValueReadOptions = {},
): Promise<Dataset> {
  const hasFeatures = !drivers.includes('TopoJSON');
  if (exactness.keepsValues && hasFeatures) {
    const plain = await openWith(path, drivers);
    nameFeatures(plain, path);
    return plain;
  }
  const facts = await readFacts(path);
  const forms = facts.forms(exactness);
  const dataset = await openForms(path, drivers, forms);
  if (hasFeatures) nameFeatures(dataset, path);
  const lost = hasFeatures ? [] : await noteTopology(path);
  for (const note of [...facts.notes(forms), ...lost]) noteDataset(dataset, note);
  return dataset;
}

/** Returns facts about the properties of a text. */
export async function readFacts(path: string): Promise<PropertyFacts> {
  const facts = new PropertyFacts();
  const scanner = new PropertyScanner((name, value) => {
    facts.add(name, value);
    return undefined;
  });
  for await (const chunk of readChunks(path)) scanner.read(chunk);
  return facts;
}

/** Opens a text whose properties have other forms, if any has. */
export function openForms(
  path: string,
  drivers: readonly string[],
  forms: ReadonlyMap<string, Form>,
): Promise<Dataset> {
  if (forms.size === 0) return openWith(path, drivers);
  return openInScratch('json', async (folder) => {
    const copy = join(folder, basename(path));
    await writeCopy(path, copy, forms);
    return openWith(copy, drivers);
  });
}

/** Writes a copy in which some properties have another form. */
export async function writeCopy(path: string, copy: string, forms: ReadonlyMap<string, Form>): Promise<void> {
  const output = createWriteStream(copy, { flags: 'wx', mode: 0o600 });
  const failed = finished(output);
  failed.catch(() => {});
  let parts: Buffer[] = [];
  const scanner = new PropertyScanner(
    (name, value) => findReplacement(forms.get(name), value),
    (bytes) => parts.push(bytes),
  );
  for await (const chunk of readChunks(path)) {
    scanner.read(chunk);
    const isFull = !output.write(Buffer.concat(parts));
    parts = [];
    if (isFull) await Promise.race([once(output, 'drain'), failed]);
  }
  output.end();
  await failed;
}

const readChunks = (path: string) =>
  createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
