/**
 * KML whose fields have names in other scripts. GDAL converts each to `______`, and names of the same length to one
 * column.
 */

import { isUtf8 } from 'node:buffer';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { xmlEscaped, xmlUnescaped } from '../../../../core/values/xml-text.js';
import { noteDataset } from '../../../gdal/dataset-notes.js';
import { type Dataset, openWith } from '../../../gdal/gdal.js';
import { openInScratch } from '../../../gdal/scratch.js';
import { vrtFields } from '../virtual-fields.js';

const DRIVERS = ['LIBKML', 'KML'];
/** Maximum bytes of the text, which is read into memory. Larger files are read by GDAL without changes. */
const MAX_BYTES = 256 << 20;
/** Names of fields: of the schema and of values, and of untyped data. */
const NAMES = /(<(?:[\w.-]+:)?(?:SimpleField|SimpleData|Data)\b[^<>]*?\bname\s*=\s*)("[^"<]*"|'[^'<]*')/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ASCII = /^[\x00-\x7f]*$/;

/** Times of features. */
const TIMES = /(<((?:[\w.-]+:)?(?:begin|end|when))(?:\s[^<>]*)?>\s*)([^<>\s]+)(?=\s*<\/\2\s*>)/g;
/** A year, or a month with an offset, of XML Schema. */
const YEAR = /^(\d{4})(-\d\d)?(Z|[+-]\d\d:\d\d)?$/;
/** Times that GDAL reads: with a year of four digits. */
const READ_TIME = /^\d{4}(-\d\d){1,2}(T|$)/;
const MAX_EXAMPLES = 3;

/**
 * Opens a KML file. A virtual dataset restores names that GDAL would replace by underscores. A year or a month
 * becomes its first day; other times that GDAL reads as null are noted.
 */
export async function openKml(path: string): Promise<Dataset> {
  const { size } = await stat(path);
  const bytes = size > MAX_BYTES ? Buffer.alloc(0) : await readFile(path);
  const text = isUtf8(bytes) ? bytes.toString() : '';
  const { filled, unread } = withWholeTimes(text);
  const { plain, names } = withPlainNames(filled);
  const dataset = await (plain === text ? openWith(path, DRIVERS) : openPlain(path, plain, names));
  if (unread.size > 0) {
    const examples = [...unread].slice(0, MAX_EXAMPLES).join(', ');
    noteDataset(dataset, `Times of features that cannot be read are null: ${examples}.`);
  }
  return dataset;
}

function openPlain(path: string, plain: string, names: ReadonlyMap<string, string>): Promise<Dataset> {
  return openInScratch('kml', async (folder) => {
    const copy = join(folder, basename(path));
    await writeFile(copy, plain);
    if (names.size === 0) return openWith(copy, DRIVERS);
    const inner = await openWith(copy, DRIVERS);
    const wrapper = `${copy}.vrt`;
    await writeFile(wrapper, virtualDataset(inner, basename(copy), names)).finally(() => inner.close());
    return openWith(wrapper, ['OGR_VRT']);
  });
}

/** The text with the first day of years and months in their place, and the times that GDAL does not read. */
function withWholeTimes(text: string): { filled: string; unread: ReadonlySet<string> } {
  const unread = new Set<string>();
  const filled = text.replace(TIMES, (whole: string, before: string, _name: string, time: string) => {
    const [, year, month = '-01', zone] = YEAR.exec(time) ?? [];
    if (year !== undefined)
      return `${before}${year}${month}-01${zone === undefined ? '' : `T00:00:00${zone}`}`;
    if (!READ_TIME.test(time)) unread.add(time.slice(0, 40));
    return whole;
  });
  return { filled, unread };
}

/** Returns the text with numbered names instead of names that are not ASCII, and the original names. */
function withPlainNames(text: string): { plain: string; names: ReadonlyMap<string, string> } {
  const plainNames = new Map<string, string>();
  const plain = text.replace(NAMES, (whole: string, before: string, quoted: string) => {
    const name = xmlUnescaped(quoted.slice(1, -1));
    if (ASCII.test(name)) return whole;
    const stand = plainNames.get(name) ?? `graticule_field_${plainNames.size + 1}`;
    plainNames.set(name, stand);
    return `${before}"${stand}"`;
  });
  return { plain, names: new Map(Array.from(plainNames, ([name, stand]) => [stand, name])) };
}

function virtualDataset(dataset: Dataset, file: string, names: ReadonlyMap<string, string>): string {
  const layers = dataset.layers.map((layer) => {
    const all = layer.fields.map((field) => field);
    const fields = vrtFields(all, (name) => names.get(name) ?? name);
    const name = xmlEscaped(layer.name);
    return `<OGRVRTLayer name="${name}"><SrcDataSource relativeToVRT="1">${xmlEscaped(file)}</SrcDataSource><SrcLayer>${name}</SrcLayer>${fields}</OGRVRTLayer>`;
  });
  return `<OGRVRTDataSource>${layers.join('')}</OGRVRTDataSource>`;
}
