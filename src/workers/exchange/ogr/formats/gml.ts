/** GML without a schema: GDAL guesses types by values, reads `007` as 7 and cuts off integers at 64 bits. */

import { readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Layer } from 'gdal-async';
import { exists } from '../../../../core/files/exists.js';
import { xmlUnescaped } from '../../../../core/values/xml-text.js';
import { noteDataset } from '../../../gdal/dataset-notes.js';
import { type Dataset, openWith } from '../../../gdal/gdal.js';
import { openInScratch } from '../../../gdal/scratch.js';
import { quote } from '../../../providers/geopackage/connection.js';
import { PropertyFacts, type ValueReadOptions } from '../../geojson/values.js';
import { hasText } from '../text-search.js';

const DRIVER = 'GML';

/** Path of the file that GDAL writes next to GML with the detected types. */
export const guessPath = (path: string): string => path.replace(/\.[^./]*$/, '.gfs');

/**
 * Returns an open GML dataset, or another dataset of the same file with some properties as text. These are properties
 * with leading zeros, and with numbers that no numeric column can store. Files with a schema keep its types.
 */
export async function keepGmlDigits(
  dataset: Dataset,
  path: string,
  exactness: ValueReadOptions,
): Promise<Dataset> {
  if (dataset.driver.description !== DRIVER || (await exists(guessPath(path)))) return dataset;
  if (!(await hasText(path, ODD_NUMBER, OVERLAP))) return dataset;
  const exact = await openExact(path, exactness);
  if (!exact) return dataset;
  dataset.close();
  return exact;
}

/** An element whose text is a number with a leading zero, many digits or an exponent. */
const ODD_NUMBER = />\s*[+-]?(?:0\d[\d.]*|[\d.]{16,}|[\d.]+[eE][+-]?\d+)\s*</;
/** Maximum characters of such an element. */
const OVERLAP = 1024;

/** Undefined if GDAL guesses no types, or reads all of them as the file has them. */
async function openExact(path: string, exactness: ValueReadOptions): Promise<Dataset | undefined> {
  let isExact = false;
  const dataset = await openInScratch('gml', async (folder) => {
    const link = await linkInto(folder, path);
    const first = await openWith(link, [DRIVER]);
    first.close();
    const guess = guessPath(link);
    // GDAL does not detect types of a file with a schema.
    if (!(await exists(guess))) return openWith(link, [DRIVER]);
    const guessed = await readFile(guess, 'utf8');
    await writeGuess(
      guess,
      retype(guessed, () => true),
      link,
    );
    const texts = await openWith(link, [DRIVER]);
    const odd = await findOdd(texts, numbersIn(guessed), exactness).finally(() => texts.close());
    isExact = odd.names.size > 0 || odd.notes.length > 0;
    await writeGuess(
      guess,
      retype(guessed, (property) => odd.names.has(property)),
      link,
    );
    const opened = await openWith(link, [DRIVER]);
    for (const note of odd.notes) noteDataset(opened, note);
    return opened;
  });
  if (isExact) return dataset;
  dataset.close();
  return undefined;
}

/** Links a file, and the schemas that it may name, into a folder. */
async function linkInto(folder: string, path: string): Promise<string> {
  const source = dirname(resolve(path));
  const schemas = (await readdir(source)).filter((name) => name.toLowerCase().endsWith('.xsd'));
  for (const name of [basename(path), ...schemas]) await symlink(join(source, name), join(folder, name));
  return join(folder, basename(path));
}

/** Writes types to the file that GDAL reads. GDAL ignores files that are older than the data. */
async function writeGuess(guess: string, text: string, link: string): Promise<void> {
  await writeFile(guess, text);
  const { mtimeMs } = await stat(link);
  const newer = new Date(Math.max(mtimeMs + 1000, Date.now()));
  await utimes(guess, newer, newer);
}

const CLASS = /<GMLFeatureClass>.*?<\/GMLFeatureClass>/gs;
const PROPERTY = /<PropertyDefn>.*?<\/PropertyDefn>/gs;
const NUMBER_TYPE = /<Type>(Integer|Integer64|Real)(List)?<\/Type>/;

const nameIn = (xml: string) => xmlUnescaped(/<Name>(.*?)<\/Name>/s.exec(xml)?.[1] ?? '');

/** Names a property of a layer. */
const makeKey = (layer: string, property: string) => JSON.stringify([layer, property]);

interface GuessedNumber {
  readonly isList: boolean;
  readonly isReal: boolean;
}

/** Returns the properties that GDAL detects as numbers, by `makeKey`. */
function numbersIn(guess: string): ReadonlyMap<string, GuessedNumber> {
  const numbers = new Map<string, GuessedNumber>();
  for (const [layer] of guess.matchAll(CLASS))
    for (const [property] of layer.matchAll(PROPERTY)) {
      const [, type, list] = NUMBER_TYPE.exec(property) ?? [];
      if (type !== undefined)
        numbers.set(makeKey(nameIn(layer), nameIn(property)), {
          isList: list !== undefined,
          isReal: type === 'Real',
        });
    }
  return numbers;
}

/** The types of GDAL with text in the place of some of the numbers. */
function retype(guess: string, isText: (key: string) => boolean): string {
  return guess.replace(CLASS, (layer) =>
    layer.replace(PROPERTY, (property) =>
      NUMBER_TYPE.test(property) && isText(makeKey(nameIn(layer), nameIn(property)))
        ? property
            .replace(NUMBER_TYPE, (_, _type, list = '') => `<Type>String${list}</Type>`)
            .replace(/<(Subtype|Width|Precision)>.*?<\/\1>/gs, '')
        : property,
    ),
  );
}

interface OddNumbers {
  /** Properties that must be text, by `makeKey`. */
  readonly names: ReadonlySet<string>;
  readonly notes: readonly string[];
}

/** Checks numbers that are read as text. */
async function findOdd(
  texts: Dataset,
  numbers: ReadonlyMap<string, GuessedNumber>,
  exactness: ValueReadOptions,
): Promise<OddNumbers> {
  const names = new Set<string>();
  const notes: string[] = [];
  for (const layer of await texts.layers) {
    const columns = layer.fields.getNames().flatMap((name) => {
      const guessed = numbers.get(makeKey(layer.name, name));
      return guessed ? [{ name, ...guessed }] : [];
    });
    if (columns.length === 0) continue;
    const odd = await oddColumns(texts, layer, columns, exactness);
    for (const name of odd.names) names.add(makeKey(layer.name, name));
    notes.push(...odd.notes);
  }
  return { names, notes };
}

interface Column extends GuessedNumber {
  readonly name: string;
}

/** A number of XML as JSON has it: without a plus sign. */
const readPlain = (text: string) => text.trim().replace(/^\+/, '');

const digits = (count: number) => '[0-9]'.repeat(count);
/** SQL that is 1 for text with a leading zero, and for text that a column of numbers may change. */
const TESTS = {
  one: (text: string) => [
    `ltrim(${text}, ' +-' || char(9, 10, 13)) GLOB '0[0-9]*'`,
    `length(${text}) > 15 OR ${text} GLOB '*[eE]*'`,
  ],
  // OGR writes lists as `(2:007,8)`.
  list: (text: string) => [
    `${text} GLOB '*[^0-9.]0[0-9]*'`,
    `${text} GLOB '*${digits(20)}*' OR ${text} GLOB '*[^0-9]9${digits(18)}*'`,
  ],
};

async function oddColumns(
  texts: Dataset,
  layer: Layer,
  columns: readonly Column[],
  exactness: ValueReadOptions,
): Promise<{ names: ReadonlySet<string>; notes: readonly string[] }> {
  const table = quote(layer.name);
  const tests = columns.flatMap(({ name, isList }) => TESTS[isList ? 'list' : 'one'](quote(name)));
  const maxima = tests.map((test) => `max(${test})`).join(', ');
  const hits = await texts.executeSQLAsync(`SELECT ${maxima} FROM ${table}`, undefined, 'SQLite');
  const maximumValues = hits.features.first().fields.toArray();
  const isLed = (i: number) => maximumValues[2 * i] === 1;
  const facts = new PropertyFacts();
  for (const [i, { name, isList, isReal }] of columns.entries()) {
    if (isLed(i) || maximumValues[2 * i + 1] !== 1) continue;
    if (isReal) facts.addNumber(name, '0.5');
    if (isList) facts.addNumber(name, '1e999');
    else {
      const long = `SELECT ${quote(name)} AS value FROM ${table} WHERE ${tests[2 * i + 1]}`;
      const { features } = await texts.executeSQLAsync(long, undefined, 'SQLite');
      for (const feature of features) facts.addNumber(name, readPlain(String(feature.fields.get(0))));
    }
  }
  const forms = facts.forms(exactness);
  const led = columns.filter((_, i) => isLed(i)).map(({ name }) => name);
  const asText = [...forms].filter(([, form]) => form === 'text').map(([name]) => name);
  return { names: new Set([...led, ...asText]), notes: facts.notes(forms) };
}
