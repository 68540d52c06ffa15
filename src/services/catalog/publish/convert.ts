import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { OgrLayerInfo } from '../../../core/exchange/ogr.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import { isCsv } from '../../../core/values/csv.js';
import { isRunning } from '../../../stores/database/instance.js';
import { writeThrough } from '../../edits/write-through.js';
import { slug } from '../../kit/slug.js';
import { formatTitle } from './collections.js';
import { getFileStem, isGzipped, isZipped } from './formats.js';
import { INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';

const IMPORT_DEADLINE_MS = 600_000;

/** Version in the names of copies. Increase it if copies are made in another way. */
const MAKE = 8;

/** The copy of a file, and what of the file is not in it. */
export interface Copy {
  store: string;
  refusals: Refusal[];
  /** Notes about assumptions and changes, for each table. */
  notes: Notes;
  /** Tables from columns whose names say that they contain degrees, such as `longitude`. */
  degrees: readonly string[];
}

/** Sentences by the names of tables. */
type Notes = Record<string, readonly string[]>;

interface Refusal {
  layer?: string;
  reason: string;
}

/**
 * Converts other vector files to a GeoPackage once. The copy is used until the file changes. It has the coordinates
 * of the file, and no CRS if the file declares none, so a CRS assigned later needs no other copy.
 * Layers without features are omitted, because features cannot be added to a copy. Unreadable layers are omitted with
 * the reason, unless all are unreadable.
 */
export async function convert(path: string, version: string, deps: PublishDeps): Promise<Copy> {
  const folder = join(deps.dataDir, 'converted');
  const store = join(folder, `${version}-${MAKE}.gpkg`);
  const [refused, noted, inDegrees] = ['refusals', 'notes', 'degrees'].map(
    (name) => `${store}.${name}.json`,
  ) as [string, string, string];
  if (existsSync(store))
    return {
      store,
      refusals: await readNoted(refused, []),
      notes: await readNoted(noted, {}),
      degrees: await readNoted(inDegrees, []),
    };
  await makeFolder(folder);
  await sweep(folder);
  const partial = `${store}.${process.pid}.partial`;
  const unpacked = `${partial}.unpacked`;
  try {
    const { paths, refusals } = await unpack(path, unpacked, deps);
    const layers = await layersIn(path, paths, refusals, deps);
    const notes: Notes = {};
    await convertLayers(path, layers, { partial, refusals, notes }, deps);
    const degrees = layers.filter(({ namesDegrees }) => namesDegrees).map(({ table }) => table);
    if (degrees.length > 0) await writeFile(inDegrees, JSON.stringify(degrees));
    if (refusals.length > 0) await writeFile(refused, JSON.stringify(refusals));
    if (Object.keys(notes).length > 0) await writeFile(noted, JSON.stringify(notes));
    await writeThrough(partial);
    // Renaming publishes the copy in one step. A crash before that leaves only the partial file.
    await rename(partial, store);
    return { store, refusals, notes, degrees };
  } finally {
    deps.onConversion?.(path, 1);
    await rm(unpacked, { recursive: true, force: true });
    for (const suffix of ['', '-wal', '-shm', '.staging.gpkg']) await rm(partial + suffix, { force: true });
  }
}

const swept = new Set<string>();

/** Removes, once, what conversions left whose process was killed. */
async function sweep(folder: string): Promise<void> {
  if (swept.has(folder)) return;
  swept.add(folder);
  for (const name of await readdir(folder)) {
    const owner = /\.gpkg\.(\d+)\.partial/.exec(name)?.[1];
    if (owner !== undefined && !isRunning(Number(owner)))
      await rm(join(folder, name), { recursive: true, force: true });
  }
}

async function readNoted<T>(path: string, nothing: T): Promise<T> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? nothing : (JSON.parse(text) as T);
}

/** The paths that OGR opens for a file: the file itself, or all its contents. */
async function unpack(path: string, output: string, deps: PublishDeps) {
  if (!isZipped(path) && !isGzipped(path)) return { paths: [path], refusals: [] };
  await rm(output, { recursive: true, force: true });
  const options = { deadlineMs: IMPORT_DEADLINE_MS };
  const { paths, left } = await deps.pools.run('ogr.unpack', { path, output, every: true }, options);
  const refusals = left.map(
    (layer): Refusal => ({
      layer,
      reason: 'Data of this kind is not read in an archive. Unpack the archive.',
    }),
  );
  return { paths, refusals };
}

/** A layer of a file, and the table that it becomes. */
interface SourceLayer {
  path: string;
  layer: string;
  table: string;
  title: string;
  /** See `OgrLayerInfo.namesDegrees`. */
  namesDegrees: boolean;
}

/** Tables in which programs store their settings. */
const TECHNICAL = new Set(['layer_styles', 'qgis_projects']);

/** Layers that have features with geometries. */
async function layersIn(
  source: string,
  paths: readonly string[],
  refusals: Refusal[],
  deps: PublishDeps,
): Promise<SourceLayer[]> {
  const layers: { path: string; info: OgrLayerInfo }[] = [];
  const bare: BareLayer[] = [];
  const empty: string[] = [];
  for (const path of paths) {
    const name = path === source ? undefined : basename(path);
    await refusing(name, refusals, async () => {
      const infos = await deps.pools.run('ogr.inspect', { path }, { deadlineMs: INSPECT_DEADLINE_MS });
      for (const info of infos) {
        if (TECHNICAL.has(info.name)) continue;
        if (info.featureCount === 0) empty.push(info.name);
        else if (info.hasGeometry === false) bare.push(describeColumns(info));
        else layers.push({ path, info });
      }
    });
  }
  if (bare.length > 0)
    refusals.push({
      layer: bare.map(({ name }) => name).join(', '),
      reason: `No geometry, and no columns of coordinates such as longitude and latitude. ${describeBare(bare)} Name the columns of coordinates longitude and latitude, or x and y.`,
    });
  if (layers.length === 0 && refusals.length === 0) throw createEmptyFailure(empty);
  const words = layers.map(({ path, info }) =>
    nameLayer(path === source ? getFileStem(source) : getFileStem(path), info, layers),
  );
  const tables = tableNames(words);
  return layers.map(({ path, info }, i) => ({
    path,
    layer: info.name,
    table: tables[i]!,
    title: formatTitle(words[i]!),
    namesDegrees: info.namesDegrees === true,
  }));
}

/** Names in a message. */
const MAX_NAMED = 12;

interface BareLayer {
  readonly name: string;
  readonly columns: readonly string[];
}

const describeColumns = ({ name, fields }: OgrLayerInfo): BareLayer => ({
  name,
  columns: fields.map((field) => field.name),
});

function describeBare([first, ...rest]: readonly BareLayer[]): string {
  const { columns } = first!;
  const more = columns.length > MAX_NAMED ? ' and more' : '';
  const names = columns.slice(0, MAX_NAMED).join(', ') + more;
  return rest.length === 0 ? `Its columns are ${names}.` : `The columns of ${first!.name} are ${names}.`;
}

/** Failure for a file whose layers have no features. */
function createEmptyFailure(layers: readonly string[]): TaskFailure {
  const which =
    layers.length === 1 ? `The layer ${layers[0]} is empty.` : `All ${layers.length} layers are empty.`;
  return new TaskFailure(
    'source-unreadable',
    `The file has no features with a geometry. ${layers.length === 0 ? '' : `${which} `}Add features to the file.`,
  );
}

/** The name of a layer, unless it is meaningless. */
export function nameLayer(file: string, info: OgrLayerInfo, all: readonly unknown[]): string {
  if (!info.isUnnamed) return info.name;
  return all.length === 1 ? file : `${file} ${info.name}`;
}

async function convertLayers(
  file: string,
  layers: readonly SourceLayer[],
  { partial, refusals, notes }: { partial: string; refusals: Refusal[]; notes: Notes },
  deps: PublishDeps,
): Promise<void> {
  deps.onConversion?.(file, 0);
  let copied = 0;
  for (const [i, layer] of layers.entries()) {
    const onProgress = (part: number) => deps.onConversion?.(file, (i + part) / layers.length);
    await refusing(layers.length > 1 ? layer.layer : undefined, refusals, async () => {
      const noted = await convertLayer(layer, partial, deps, onProgress);
      if (noted.length > 0) notes[layer.table] = noted;
      copied += 1;
    });
  }
  if (copied > 0) return;
  const [first] = refusals;
  if (!first) throw new TaskFailure('source-unreadable', 'The file has no features with a geometry.');
  const others = refusals.length > 1 ? ` (and ${refusals.length - 1} more reasons)` : '';
  throw new TaskFailure(
    'source-unreadable',
    `${first.layer ? `${first.layer}: ` : ''}${first.reason}${others}`,
  );
}

/** Faults of the file: other ones end the conversion, so that it is tried again. */
const FAULTS = new Set(['source-unreadable', 'invalid-input', 'too-large']);

async function refusing(
  layer: string | undefined,
  refusals: Refusal[],
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof TaskFailure) || !FAULTS.has(error.code)) throw error;
    refusals.push({ ...(layer === undefined ? {} : { layer }), reason: error.message });
  }
}

/** Longest name of a table, with room for a number. */
const NAME_LENGTH = 56;

/** Table names for layers. Numbers distinguish equal and unsuitable names. */
function tableNames(layers: readonly string[]): string[] {
  const names = new Set<string>();
  return layers.map((layer) => {
    const plain = slug(layer).replace(/-/g, '_').slice(0, NAME_LENGTH);
    let name = plain;
    for (let n = 2; names.has(name); n++) name = `${plain}_${n}`;
    names.add(name);
    return name;
  });
}

/** Part of a conversion that is done when all is read. */
const READ = 0.7;

async function convertLayer(
  { path, layer, table, title }: SourceLayer,
  store: string,
  deps: PublishDeps,
  onProgress: (fraction: number) => void,
): Promise<readonly string[]> {
  const staging = `${store}.staging.gpkg`;
  await rm(staging, { force: true });
  const deadline = { deadlineMs: IMPORT_DEADLINE_MS };
  const { notes = [], idNote } = await deps.pools.run(
    'ogr.translate',
    { path, layer, output: staging, table, mayLackCrs: true },
    { ...deadline, onProgress: (part) => onProgress(part * READ) },
  );
  await deps.pools.run(
    'vector.load',
    {
      staging,
      stagingTable: table,
      store,
      table,
      title,
      untyped: isCsv(path),
      spans: /\.kml$/i.test(path),
      keepIds: true,
      unpublished: true,
    },
    { ...deadline, onProgress: (part) => onProgress(READ + part * (1 - READ)) },
  );
  return idNote === undefined ? notes : [idNote, ...notes];
}
