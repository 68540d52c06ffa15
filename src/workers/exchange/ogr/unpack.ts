/** Body of task `ogr.unpack`: vector data of a ZIP archive, or of a file that gzip has compressed, into a folder. */

import { createReadStream, createWriteStream } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import type { UnpackResult, UnpackTask } from '../../../core/exchange/ogr.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  checkedEntries,
  checkRatio,
  createSizeFailure,
  describeZipFailure,
  openZip,
  unfit,
} from '../../files/zip.js';
import { plainFile } from '../../gdal/gdal.js';
import { removePart } from '../../gdal/parts.js';
import { requireNewFile } from './translation.js';

/** Files of a shapefile, by their endings. */
const SHAPEFILE = new Set(['.shp', '.shx', '.dbf', '.prj', '.cpg', '.qix', '.sbn', '.sbx']);
/** Files of a file geodatabase: `a00000001.gdbtable`, `a00000004.CatItemsByType.atx`, `gdb`. */
const GEODATABASE =
  /^(a[0-9a-f]{8}\.(\w+\.)?(gdbtable|gdbtablx|gdbindexes|atx|spx|horizon|freelist)|gdb|timestamps)$/i;
/** Vector formats of one file, and of several that have one name. */
const VECTOR = new Set(
  '.geojson .json .geojsonl .ndjson .geojsons .topojson .fgb .gpkg .csv .tsv .psv .gml .kml .gpx .dxf .dgn .parquet .geoparquet'.split(
    ' ',
  ),
);
const MAPINFO = new Set(['.tab', '.dat', '.map', '.id', '.ind', '.mif', '.mid']);
/** Other data, which people may miss. */
const OTHER_DATA = new Set(
  '.tif .tiff .jp2 .img .asc .nc .nc4 .h5 .hdf5 .grib .grb .grb2 .ecw .sid .xlsx .ods .xls .mbtiles .pmtiles .dwg .las .laz .sqlite'.split(
    ' ',
  ),
);

/** The files of one data set. */
interface DataSet {
  /** What GDAL opens, relative to the folder. */
  main: string;
  /** Entries by their new names, relative to the folder. */
  members: Map<string, Entry>;
}

/** Unpacks into `part`, which gets its final name when it is whole. */
export async function unpackArchive(task: UnpackTask, part: string): Promise<UnpackResult> {
  await requireNewFile(task.output);
  const { size } = await plainFile(task.path);
  try {
    const contents = isGzip(task.path) ? await inflate(task.path, part, size) : await unzip(task, part, size);
    await rename(part, task.output);
    const paths = contents.mains.map((main) => join(task.output, main));
    return { path: paths[0]!, paths, left: contents.left };
  } catch (error) {
    throw describeZipFailure(error);
  } finally {
    await removePart(part);
  }
}

const isGzip = (path: string) => extname(path).toLowerCase() === '.gz';

/** What was written, relative to the folder. */
interface ArchiveContents {
  mains: string[];
  left: string[];
}

/** A file without the ending `.gz`. It may grow no more than an archive. */
async function inflate(path: string, part: string, size: number): Promise<ArchiveContents> {
  const file = basename(path).slice(0, -'.gz'.length);
  const extension = extname(file).toLowerCase();
  const main = plainName(file.slice(0, file.length - extension.length)) + extension;
  await makeFolder(part);
  let bytes = 0;
  const bounds = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      try {
        if (bytes > LIMITS.archiveEntryBytes)
          throw createSizeFailure(`The file unpacks to more than ${LIMITS.archiveEntryBytes} bytes.`);
        checkRatio(bytes, size);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });
  const out = createWriteStream(join(part, main), { flags: 'wx', mode: 0o600 });
  await pipeline(createReadStream(path), createGunzip(), bounds, out);
  return { mains: [main], left: [] };
}

/**
 * Checks the whole central directory first and refuses the archive when any entry of it could do harm; then writes the
 * files of its data sets. An entry never grows beyond the size that the directory gives, and its name in the folder is
 * one of ours.
 */
async function unzip(
  { path, every, layer }: UnpackTask,
  part: string,
  size: number,
): Promise<ArchiveContents> {
  const archive = await openZip(path);
  try {
    const entries = await checkedEntries(archive, size);
    const sets = dataSets(entries, every === true);
    const left = entries.map(({ fileName }) => fileName).filter(holdsOtherData);
    const selection = every ? all(sets, left) : [choose(sets, layer, left)];
    for (const { members } of selection)
      for (const [name, entry] of members) await extract(archive, entry, join(part, name));
    return { mains: selection.map(({ main }) => main), left };
  } finally {
    archive.close();
  }
}

const holdsOtherData = (name: string) =>
  OTHER_DATA.has(extname(name).toLowerCase()) && !name.startsWith('__MACOSX/');

/** Checks a ZIP archive that a library unpacks by itself, and in memory. Fails as `unpackArchive` does. */
export async function checkArchive(path: string, mostBytes: number): Promise<void> {
  const { size } = await plainFile(path);
  try {
    const archive = await openZip(path);
    try {
      const entries = await checkedEntries(archive, size);
      const bytes = entries.reduce((sum, { uncompressedSize }) => sum + uncompressedSize, 0);
      if (bytes > mostBytes) throw createSizeFailure(`The file unpacks to more than ${mostBytes} bytes.`);
    } finally {
      archive.close();
    }
  } catch (error) {
    throw describeZipFailure(error);
  }
}

/**
 * The data sets of an archive by their names; all other files are left out. Each of `every` data set has a folder of its
 * own, as two in different folders may have one name.
 */
function dataSets(entries: readonly Entry[], every: boolean): Map<string, DataSet> {
  const sets = new Map<string, DataSet>();
  const folders = new Map<string, string>();
  const buildFolder = (key: string) => {
    if (!every) return '';
    if (!folders.has(key)) folders.set(key, `${folders.size}/`);
    return folders.get(key)!;
  };
  const add = (key: string, plainMain: string, plainName: string, entry: Entry) => {
    const folder = buildFolder(key);
    const [main, name] = [folder + plainMain, folder + plainName];
    const set = sets.get(key) ?? { main, members: new Map() };
    sets.set(key, set);
    if (set.members.has(name)) throw unfit('The archive has a file twice.');
    set.members.set(name, entry);
  };
  for (const entry of entries) {
    const parts = entry.fileName.split('/');
    const file = parts.pop()!;
    const folder = parts.at(-1) ?? '';
    const extension = extname(file).toLowerCase();
    // What the Finder writes beside each file.
    if (file === '' || file.startsWith('.') || parts[0] === '__MACOSX') continue;
    if (/\.gdb$/i.test(folder)) {
      const main = `${plainName(folder.slice(0, -4))}.gdb`;
      if (GEODATABASE.test(file)) add(parts.join('/'), main, `${main}/${file}`, entry);
      continue;
    }
    const base = file.slice(0, file.length - extension.length);
    const name = plainName(base);
    const key = [...parts, base].join('/');
    if (SHAPEFILE.has(extension)) add(key, `${name}.shp`, name + extension, entry);
    else if (VECTOR.has(extension)) add(key + extension, name + extension, name + extension, entry);
    else if (MAPINFO.has(extension)) {
      const main = extension === '.mif' || extension === '.mid' ? '.mif' : '.tab';
      add(key + main, name + main, name + extension, entry);
    }
  }
  for (const [key, { main, members }] of sets)
    if (!main.endsWith('.gdb') && !members.has(main)) sets.delete(key);
  return sets;
}

/** A name of an archive as one of ours: no separators, no dots, no control characters. */
function plainName(name: string): string {
  return name.replace(/[^\p{L}\p{N}_ -]+/gu, '_').slice(0, 60) || 'data';
}

/** Every data set of an archive. Fails when there is none. */
function all(sets: Map<string, DataSet>, left: readonly string[]): DataSet[] {
  if (sets.size > 0) return [...sets.values()];
  throw unfit(
    left.length === 0
      ? 'The archive has no geodata in a supported format.'
      : `The archive has files that must be unpacked first: ${listed(left)}.`,
  );
}

/** The first of some names. */
function listed(names: readonly string[]): string {
  const rest = names.length - NAMED;
  return names.slice(0, NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
const NAMED = 5;

/** Data sets that go before other files beside them, which may tell about them. */
const isPrincipal = ({ main }: DataSet) => /\.(shp|gdb)$/.test(main);

/** The data set of that name; without a name the only one. */
function choose(sets: Map<string, DataSet>, layer: string | undefined, left: readonly string[]): DataSet {
  const every = all(sets, left);
  const named = every.filter(({ main }) => main.slice(0, -extname(main).length) === layer);
  if (named.length === 1) return named[0]!;
  const principal = every.filter(isPrincipal);
  const candidates = principal.length > 0 ? principal : every;
  if (candidates.length === 1) return candidates[0]!;
  const names = candidates.map(({ main }) => main).slice(0, 20);
  throw unfit(`The archive has several data sets: ${names.join(', ')}. Send one.`);
}

async function extract(archive: ZipFile, entry: Entry, path: string): Promise<void> {
  await makeFolder(dirname(path));
  const bytes = await archive.openReadStreamPromise(entry);
  await pipeline(bytes, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
}
