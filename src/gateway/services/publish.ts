import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { CatalogSnapshot, type Collection, type Quarantined } from '../../core/collection.js';
import { CRS84, type Crs, crsOfEpsg, parseCrs } from '../../core/crs.js';
import {
  type ArchiveContainer,
  type ArchiveInfo,
  type Pools,
  type RasterInfo,
  TaskFailure,
  type VectorLayerInfo,
} from '../../core/tasks.js';
import { WEB_MERCATOR } from '../../core/tile-matrix.js';
import { describeCrs } from '../../native/index.js';
import { defaultStyle } from './default-style.js';

/** Extensions by what reads them. Files and folders of other kinds are left alone. */
const GEOPACKAGE = new Set(['.gpkg']);
const RASTER = new Set(['.tif', '.tiff', '.nc', '.jp2', '.img', '.asc', '.vrt']);
const OGR = new Set(['.geojson', '.json', '.geojsonl', '.shp', '.fgb', '.csv', '.gml', '.kml', '.gpx']);

const ARCHIVE: ReadonlyMap<string, ArchiveContainer> = new Map([
  ['.mbtiles', 'mbtiles'],
  ['.pmtiles', 'pmtiles'],
]);

const MAX_DEPTH = 6;
const MAX_FILES = 10_000;
const IMPORT_DEADLINE_MS = 600_000;
const INSPECT_DEADLINE_MS = 60_000;
/** Sources inspected at the same time. */
const PARALLEL = 4;

export interface PublishDeps {
  pools: Pools;
  /** Stable integer id of a collection. */
  layerIdOf(id: string): Promise<number>;
  /** Folder for what is derived from sources: converted files. */
  dataDir: string;
}

type Found = { collections: Draft[]; quarantined: Quarantined[] };
/** A collection before it has its final id. */
type Draft = { name: string; file: string; make(id: string, layerId: number): Collection };

/** Reads every source below the given files and folders and makes one catalog of them. Never throws for a bad source. */
export async function publish(
  paths: readonly string[],
  deps: PublishDeps,
  generation: number,
): Promise<CatalogSnapshot> {
  const files = await findFiles(paths);
  const found: Found[] = new Array(files.length);
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < files.length; i = next++) found[i] = await readSource(files[i]!, deps);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  const drafts = found.flatMap((f) => f.collections);
  const collections = await assignIds(drafts, deps);
  return new CatalogSnapshot(
    collections,
    found.flatMap((f) => f.quarantined),
    generation,
  );
}

interface SourceFile {
  path: string;
  /** Set when the path itself cannot be read. */
  problem?: string;
}

async function findFiles(paths: readonly string[]): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  // A folder named twice, or below another one, is published once.
  for (const path of paths) await walk(resolve(path), 0, files, await rootOf(path));
  return [...new Map(files.map((file) => [file.path, file])).values()];
}

async function rootOf(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

async function walk(path: string, depth: number, files: SourceFile[], root: string): Promise<void> {
  if (files.length >= MAX_FILES) return;
  const real = await realpath(path).catch(() => undefined);
  if (!real) {
    files.push({ path, problem: 'The path does not exist.' });
    return;
  }
  if (real !== root && !real.startsWith(`${root}/`)) {
    files.push({ path, problem: 'The link leads out of the published folder.' });
    return;
  }
  const info = await stat(real);
  if (info.isFile()) {
    if (depth === 0 || isSource(real)) files.push({ path: real });
  } else if (info.isDirectory() && depth < MAX_DEPTH) {
    const names = await readdir(real).catch(() => undefined);
    if (!names) {
      files.push({ path, problem: 'The folder cannot be read.' });
      return;
    }
    names.sort();
    for (const name of names) {
      if (!name.startsWith('.')) await walk(join(real, name), depth + 1, files, root);
    }
  }
}

function isSource(path: string): boolean {
  const extension = extname(path).toLowerCase();
  return [GEOPACKAGE, RASTER, OGR, ARCHIVE].some((extensions) => extensions.has(extension));
}

async function readSource(file: SourceFile, deps: PublishDeps): Promise<Found> {
  if (file.problem) return { collections: [], quarantined: [{ path: file.path, reason: file.problem }] };
  try {
    return await readFile(file.path, deps);
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The file could not be read.';
    return { collections: [], quarantined: [{ path: file.path, reason }] };
  }
}

async function readFile(path: string, deps: PublishDeps): Promise<Found> {
  const extension = extname(path).toLowerCase();
  const version = await versionOf(path);
  if (GEOPACKAGE.has(extension)) return readGeoPackage(path, path, version, deps);
  if (RASTER.has(extension)) return readRaster(path, version, deps);
  const container = ARCHIVE.get(extension);
  if (container) return readArchive(path, container, version, deps);
  if (OGR.has(extension)) return readGeoPackage(await convert(path, version, deps), path, version, deps);
  throw new TaskFailure(
    'source-unreadable',
    `Files of type ${extension || 'without extension'} are not published.`,
  );
}

/** Hash of what tells a changed file from an unchanged one without reading it. */
async function versionOf(path: string): Promise<string> {
  const { size, mtimeMs, ino } = await stat(path);
  return createHash('sha1')
    .update(`${path}\u0000${size}\u0000${mtimeMs}\u0000${ino}`)
    .digest('hex')
    .slice(0, 12);
}

/** A version of a source after edits of ours: the same in every process, and after every reload. */
export function editedVersion(version: string, cursor: number): string {
  return `${version.split('.')[0]}.${cursor}`;
}

async function readGeoPackage(
  gpkg: string,
  file: string,
  version: string,
  deps: PublishDeps,
): Promise<Found> {
  const layers = await deps.pools.run('vector.inspect', { path: gpkg }, { deadlineMs: INSPECT_DEADLINE_MS });
  const found: Found = { collections: [], quarantined: [] };
  for (const layer of layers) {
    const name = layer.source.table;
    try {
      found.collections.push({ name, file, make: vectorCollection(layer, file, version) });
    } catch (error) {
      found.quarantined.push({ path: file, layer: name, reason: (error as Error).message });
    }
  }
  if (layers.length === 0) found.quarantined.push({ path: file, reason: 'The file has no feature tables.' });
  return found;
}

function vectorCollection(layer: VectorLayerInfo, file: string, version: string) {
  const storageCrs = knownCrs(layer.source.crs);
  // What is served of a foreign file is a copy: edits of it would never reach the file.
  const isCopy = layer.source.kind === 'geopackage' && layer.source.path !== file;
  return (id: string, layerId: number): Collection => ({
    kind: 'vector',
    id,
    layerId,
    title: layer.title && layer.title !== layer.source.table ? layer.title : titleOf(layer.source.table),
    description: layer.description ?? '',
    extent84: layer.extent84,
    storageCrs,
    crs: advertised(storageCrs),
    file,
    version: editedVersion(version, layer.cursor),
    source: isCopy ? { ...layer.source, writable: false } : layer.source,
    featureCount: layer.featureCount,
    cursor: layer.cursor,
    style: defaultStyle(layer.source.geometryType, id),
  });
}

async function readRaster(path: string, version: string, deps: PublishDeps): Promise<Found> {
  const raster = await deps.pools.run('raster.inspect', { path }, { deadlineMs: INSPECT_DEADLINE_MS });
  const name = basename(path, extname(path));
  return {
    collections: [{ name, file: path, make: rasterCollection(raster, name, version) }],
    quarantined: [],
  };
}

function rasterCollection(raster: RasterInfo, name: string, version: string) {
  const storageCrs = knownCrs(raster.crs);
  return (id: string, layerId: number): Collection => ({
    kind: 'raster',
    id,
    layerId,
    title: titleOf(name),
    description: `${raster.width} x ${raster.height} pixels, ${raster.bands.length} band${raster.bands.length === 1 ? '' : 's'}, ${raster.driver}`,
    extent84: raster.extent84,
    storageCrs,
    crs: advertised(storageCrs),
    file: raster.path,
    version,
    raster,
    bands: raster.bands,
  });
}

async function readArchive(
  path: string,
  container: ArchiveContainer,
  version: string,
  deps: PublishDeps,
): Promise<Found> {
  const options = { deadlineMs: INSPECT_DEADLINE_MS };
  const archive = await deps.pools.run('vector.archive', { path, container }, options);
  const name = basename(path, extname(path));
  return {
    collections: [{ name, file: path, make: archiveCollection(archive, name, version) }],
    quarantined: [],
  };
}

function archiveCollection(archive: ArchiveInfo, name: string, version: string) {
  return (id: string, layerId: number): Collection => ({
    kind: 'archive',
    id,
    layerId,
    title: archive.title && archive.title !== name ? archive.title : titleOf(name),
    description: archive.description ?? '',
    extent84: archive.extent84,
    storageCrs: WEB_MERCATOR,
    // Tiles are served as they are stored: in no other CRS.
    crs: [WEB_MERCATOR],
    file: archive.path,
    version,
    container: archive.container,
    format: archive.format,
    minZoom: archive.minZoom,
    maxZoom: archive.maxZoom,
    vectorLayers: archive.vectorLayers,
    attribution: archive.attribution,
  });
}

/** Other vector files become a GeoPackage once; the copy is used until the file changes. */
async function convert(path: string, version: string, deps: PublishDeps): Promise<string> {
  const folder = join(deps.dataDir, 'converted');
  const store = join(folder, `${version}.gpkg`);
  if (existsSync(store)) return store;
  await mkdir(folder, { recursive: true });
  const layers = await deps.pools.run('ogr.inspect', { path }, { deadlineMs: INSPECT_DEADLINE_MS });
  const spatial = layers.filter((layer) => layer.featureCount !== 0);
  if (spatial.length === 0)
    throw new TaskFailure('source-unreadable', 'The file has no features with a geometry.');
  const partial = `${store}.${process.pid}.partial`;
  try {
    for (const layer of spatial) await convertLayer(path, layer.name, partial, deps);
    // Renaming publishes the copy at once; a crash before leaves only the partial file.
    await rename(partial, store);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '.staging.gpkg']) await rm(partial + suffix, { force: true });
  }
  return store;
}

async function convertLayer(path: string, layer: string, store: string, deps: PublishDeps): Promise<void> {
  const staging = `${store}.staging.gpkg`;
  const table = slug(layer).replace(/-/g, '_');
  await rm(staging, { force: true });
  const options = { deadlineMs: IMPORT_DEADLINE_MS };
  await deps.pools.run(
    'ogr.translate',
    { path, layer, output: staging, table, assumeCrs: 'OGC:CRS84' },
    options,
  );
  await deps.pools.run(
    'vector.load',
    { staging, stagingTable: table, store, table, title: titleOf(layer) },
    options,
  );
}

/** The EPSG code of a CRS that a file spells out, when PROJ is sure of it. */
function identifiedCrs(wkt: string): Crs | undefined {
  try {
    const { authority, code } = describeCrs(wkt);
    return authority === 'EPSG' ? crsOfEpsg(Number(code)) : undefined;
  } catch {
    return undefined;
  }
}

function knownCrs(text: string): Crs {
  const crs = text === 'OGC:CRS84' ? CRS84 : (parseCrs(text) ?? identifiedCrs(text));
  if (crs) return crs;
  // A CRS of the file's own: data can be read and reprojected, but clients cannot name it.
  return {
    uri: 'http://www.opengis.net/def/crs/OGC/0/unknown',
    proj: text,
    epsg: 0,
    northFirst: false,
    geographic: false,
  };
}

/** CRS84, the storage CRS, and the two that maps use; no repeats. */
function advertised(storage: Crs): Crs[] {
  const list = [CRS84, storage, crsOfEpsg(4326), WEB_MERCATOR].filter(
    (crs): crs is Crs => crs !== undefined && (crs.epsg > 0 || crs === CRS84),
  );
  return list.filter((crs, i) => list.findIndex((other) => other.uri === crs.uri) === i);
}

/** Readable ids: the layer's name, with the file's name in front when two layers share it. */
async function assignIds(drafts: readonly Draft[], deps: PublishDeps): Promise<Collection[]> {
  const uses = new Map<string, number>();
  for (const draft of drafts) uses.set(slug(draft.name), (uses.get(slug(draft.name)) ?? 0) + 1);
  const taken = new Set<string>();
  const collections: Collection[] = [];
  for (const draft of drafts) {
    const plain = slug(draft.name);
    const base =
      uses.get(plain)! > 1 ? slug(`${basename(draft.file, extname(draft.file))}-${draft.name}`) : plain;
    let id = base;
    for (let n = 2; taken.has(id); n++) id = `${base}-${n}`;
    taken.add(id);
    collections.push(draft.make(id, await deps.layerIdOf(id)));
  }
  return collections;
}

/** Lower-case letters, digits, - and _ ; safe in a path and stable. */
export function slug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64);
  return plain || 'layer';
}

function titleOf(name: string): string {
  const words = name.replace(/[_-]+/g, ' ').trim();
  return words ? words[0]!.toUpperCase() + words.slice(1) : name;
}
