/** Which columns of a CSV file hold its geometry. */

import { open } from 'node:fs/promises';
import { TaskFailure } from '../../core/tasks.js';

/** Names of columns with coordinates, in pairs: one of a pair is never taken with one of another. */
const PAIRS: readonly (readonly [x: string, y: string])[] = [
  ['longitude', 'latitude'],
  ['lon', 'lat'],
  ['lng', 'lat'],
  ['long', 'lat'],
  ['decimallongitude', 'decimallatitude'],
  ['longitudedeg', 'latitudedeg'],
  ['gpslongitude', 'gpslatitude'],
  ['geolongitude', 'geolatitude'],
  ['geolon', 'geolat'],
  ['locationlongitude', 'locationlatitude'],
  ['loclong', 'loclat'],
  ['longdd', 'latdd'],
  ['xlong', 'ylat'],
  ['x', 'y'],
  ['coordx', 'coordy'],
  ['xcoord', 'ycoord'],
  ['xcoordinate', 'ycoordinate'],
  ['coordinatex', 'coordinatey'],
  ['pointx', 'pointy'],
  ['geox', 'geoy'],
  ['posx', 'posy'],
  ['easting', 'northing'],
  ['eastings', 'northings'],
  ['east', 'north'],
  ['rechtswert', 'hochwert'],
  ['ostwert', 'nordwert'],
];

/** Names of columns with WKT, or WKB in hexadecimal digits. */
const GEOMETRY = /^(wkt|wkb|geom|geometry|thegeom|shape|wktgeom|wkbgeometry|geowkt|.*(wkt|wkb|geom))$/;

/** Bytes in which the head of a file must be. */
const HEAD_BYTES = 1 << 20;

/**
 * Open options of OGR's CSV driver. All columns are read as texts: the driver would take `007` for 7. Fails with
 * `source-unreadable` where the coordinates have decimal commas, which the driver would cut off.
 */
export async function csvOptions(path: string): Promise<Record<string, string>> {
  const options = { AUTODETECT_TYPE: 'NO', KEEP_GEOM_COLUMNS: 'NO' };
  const { columns, first } = await readHead(path);
  const geometry = columns.find((column) => GEOMETRY.test(plain(column)));
  if (geometry !== undefined) return { ...options, GEOM_POSSIBLE_NAMES: geometry };
  const pair = coordinateColumns(columns);
  if (!pair) return options;
  if (pair.some((column) => /^\s*[+-]?\d+,\d+\s*$/.test(first[columns.indexOf(column)] ?? '')))
    throw new TaskFailure(
      'source-unreadable',
      `The coordinates in ${pair.join(' and ')} have decimal commas: they are read with decimal points only.`,
    );
  return { ...options, X_POSSIBLE_NAMES: pair[0], Y_POSSIBLE_NAMES: pair[1] };
}

/** The first pair of the table of which both are there. */
export function coordinateColumns(columns: readonly string[]): [x: string, y: string] | undefined {
  const byName = new Map(columns.map((column) => [plain(column), column]));
  for (const [x, y] of PAIRS) {
    const [easting, northing] = [byName.get(x), byName.get(y)];
    if (easting !== undefined && northing !== undefined) return [easting, northing];
  }
  return undefined;
}

/** Case, spaces and marks do not tell names of columns apart: `Point_X` is `pointx`. */
function plain(column: string): string {
  return column.toLowerCase().replace(/[\s_.()[\]°-]+/g, '');
}

async function readHead(path: string): Promise<{ columns: string[]; first: string[] }> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const text = buffer.toString('utf8', 0, bytesRead).replace(/^\uFEFF/, '');
    const separator = separatorOf(text);
    const [columns = [], first = []] = records(text, separator, 2);
    return { columns, first };
  } finally {
    await file.close();
  }
}

/** The separator that is most often in the first line, outside of quotes: as OGR's driver finds it. */
function separatorOf(text: string): string {
  const line = (/^(?:[^"\r\n]|"[^"]*")*/.exec(text)?.[0] ?? '').replace(/"[^"]*"/g, '');
  const counts = [',', ';', '\t', '|'].map((separator) => ({
    separator,
    count: line.split(separator).length - 1,
  }));
  return counts.reduce((most, one) => (one.count > most.count ? one : most)).separator;
}

/** The first records of a text (RFC 4180). */
function records(text: string, separator: string, most: number): string[][] {
  const found: string[][] = [];
  let record: string[] = [];
  let at = 0;
  while (at < text.length && found.length < most) {
    let value = '';
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        if (text[at] !== '"') value += text[at];
        else if (text[at + 1] === '"') value += text[at++];
        else break;
      }
      at++;
    }
    const end = endOfValue(text, at, separator);
    record.push(value + text.slice(at, end));
    at = end;
    if (text[at] === separator) at++;
    else {
      found.push(record);
      record = [];
      at += text.startsWith('\r\n', at) ? 2 : 1;
    }
  }
  if (record.length > 0 && found.length < most) found.push(record);
  return found;
}

function endOfValue(text: string, from: number, separator: string): number {
  let end = from;
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++;
  return end;
}
