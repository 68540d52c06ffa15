import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { describeRasterLocation, listMosaicMembers } from '../../../core/catalog/raster-sources.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import { type AssumedCrs, LOCAL_CRS } from '../../../core/geometry/stated-crs.js';
import { contentTag } from '../../../core/http/content-tag.js';
import type { FileRaster, RasterLayers } from '../../../core/rasters/rasters.js';
import { TILE_INDEX } from '../../../core/sources/sources.js';
import type { Field } from '../../../core/sources/vector-source.js';
import type { InspectTask, VectorLayerInfo } from '../../../core/tasks/vector-tasks.js';
import type { ArchiveContainer } from '../../../core/tiles/archives.js';
import { findAssumption } from '../inspections/crs-notes.js';
import type { Inspector } from '../inspections/inspections.js';
import { sidecarCrs } from '../inspections/sidecar-crs.js';
import { archiveCollection, rasterCollection, type Versions, vectorCollection } from './collections.js';
import { type Copy, convert } from './convert.js';
import type { SourceFile } from './find.js';
import { ARCHIVE, GRIDDED, getFileStem, isCopied, isTableFolder, RASTER, TABLES } from './formats.js';
import { type CollectionDraft, type Found, INSPECT_DEADLINE_MS, type PublishDeps } from './source.js';
import { collectionName, isStac, readStac } from './stac.js';

interface FileDeps extends PublishDeps {
  /** Opens files, or knows what is in them. */
  inspector: Inspector;
}

/** Contents of a file, or the reason why it cannot be published. */
export async function readFileSource(file: SourceFile, deps: PublishDeps): Promise<Found> {
  if (file.problem) return { collections: [], quarantined: [{ path: file.path, reason: file.problem }] };
  try {
    const inspector = await deps.inspections.start(file.path);
    const contents = await readFile(file, { ...deps, inspector });
    if (!contents.isPassing && !contents.dependsOnOthers) inspector.keep();
    return contents;
  } catch (error) {
    const reason = error instanceof TaskFailure ? error.message : 'The file could not be read.';
    const unread = { path: file.path, reason, isUnread: true } as const;
    if (isLasting(error)) return { collections: [], quarantined: [unread] };
    return { collections: [], quarantined: [{ ...unread, passing: true }], isPassing: true };
  }
}

/** Failures that last for as long as the file is the same. */
const LASTING: ReadonlySet<string> = new Set(['source-unreadable', 'invalid-input', 'too-large', 'no-data']);

const isLasting = (error: unknown) => error instanceof TaskFailure && LASTING.has(error.code);

/** Contents of the existing tables among these. The file is not inspected for other contents. */
export function readTableDrafts(path: string, tables: readonly string[], deps: PublishDeps): Promise<Found> {
  const kind = TABLES.get(extname(path).toLowerCase())!;
  const version = deps.versionOf(path);
  return readFeatureTables({ kind, path, tables }, path, version, { ...deps, inspector: deps.pools });
}

async function readFile({ path, version: stated }: SourceFile, deps: FileDeps): Promise<Found> {
  if (stated === undefined && (await stat(path)).size === 0)
    throw new TaskFailure('source-unreadable', 'The file is empty (0 bytes). Copy or export it again.');
  const extension = extname(path).toLowerCase();
  if (stated === undefined && (await isStac(path)))
    return { ...(await readStac(path, deps)), dependsOnOthers: true };
  if (isTableFolder(path) && stated !== undefined) return readCopy(path, stated, deps);
  const version = stated ?? deps.versionOf(path);
  if (TILE_INDEX.test(path)) return { ...(await readRasters(path, version, deps)), dependsOnOthers: true };
  if (stated !== undefined || GRIDDED.has(extension)) return readRasters(path, version, deps);
  const kind = TABLES.get(extension);
  if (kind !== undefined) return readTables({ kind, path }, path, version, deps);
  if (RASTER.has(extension)) {
    const found = await readRasterFile(path, version, deps);
    return extension === '.vrt' ? { ...found, dependsOnOthers: true } : found;
  }
  const container = ARCHIVE.get(extension);
  if (container) return readArchive(path, container, version, deps);
  if (isCopied(path)) return readCopy(path, version, deps);
  throw new TaskFailure(
    'source-unreadable',
    `Files of type ${extension || 'without extension'} cannot be published.`,
  );
}

async function readCopy(path: string, version: string, deps: FileDeps): Promise<Found> {
  const { refusals, ...copy } = await convert(path, version, deps);
  const contents = await readTables({ kind: 'geopackage', path: copy.store }, path, version, deps, copy);
  return {
    ...contents,
    quarantined: [...refusals.map((refusal) => ({ path, ...refusal })), ...contents.quarantined],
  };
}

/** A file of tables, and the store that reads it. */
type TableFile = Pick<InspectTask, 'kind' | 'path' | 'tables'>;

/** Facts about the original file of a copy. */
type CopyFacts = Partial<Pick<Copy, 'notes' | 'degrees'>>;

const LOCAL_UNITS: AssumedCrs = { as: 'plane', isDeclared: true };

/** Contents of tables. `file` is the path that users know: the tables can be a copy of it. */
async function readTables(
  tables: TableFile,
  file: string,
  version: string,
  deps: FileDeps,
  copy: CopyFacts = {},
): Promise<Found> {
  const { inspected, ...contents } = await readFeatureTables(tables, file, version, deps, copy);
  const rasters = await readOtherTables(tables, version, deps, inspected);
  return {
    ...contents,
    collections: [...contents.collections, ...rasters.collections],
    quarantined: [...contents.quarantined, ...rasters.quarantined],
    ...(rasters.isPassing && { isPassing: true }),
  };
}

async function readFeatureTables(
  tables: TableFile,
  file: string,
  version: string,
  deps: FileDeps,
  copy: CopyFacts = {},
): Promise<Found & { inspected: string[] }> {
  const stated = deps.statedCrsOf(file);
  const assumeCrs = tables.path === file ? undefined : await sidecarCrs(file);
  const inspect = async (crs: Record<string, string>) => {
    const options = { deadlineMs: INSPECT_DEADLINE_MS };
    const layers = await deps.inspector.run('vector.inspect', { ...tables, crs, assumeCrs }, options);
    return layers.map((one) => {
      const layer = /\.km[lz]$/i.test(file) ? withSpan(one) : one;
      const remarks = [...(copy.notes?.[layer.source.table] ?? []), ...(layer.remarks ?? [])];
      return remarks.length > 0 ? { ...layer, remarks } : layer;
    });
  };
  const layers = await inspect(stated);
  const contents: Found = { collections: [], quarantined: [], unplaced: [] };
  const buildDraft = (layer: VectorLayerInfo, assumed?: AssumedCrs): CollectionDraft => {
    const name = collectionName(layer);
    const versions = versionsIn(version, layer);
    const make = vectorCollection(layer, file, versions, assumed);
    return { name, group: getFileStem(file), table: layer.source.table, make };
  };
  for (const layer of layers) {
    const name = collectionName(layer);
    try {
      const { table } = layer.source;
      const namesDegrees = copy.degrees?.includes(table) ?? false;
      const isLocal = (stated[table] ?? stated['']) === LOCAL_CRS;
      const assumption = isLocal ? LOCAL_UNITS : findAssumption(layer, { namesDegrees });
      const draft = buildDraft(layer, assumption);
      contents.collections.push(draft);
      if (isLocal || layer.takenFor !== 'plane' || !layer.extent) continue;
      contents.unplaced!.push({
        draft,
        file,
        extent: layer.extent,
        async in(crs, guessed) {
          const [again] = (await inspect({ ...stated, [table]: crs })).filter(
            ({ source }) => source.table === table,
          );
          return buildDraft(again!, guessed);
        },
      });
    } catch (error) {
      contents.quarantined.push({ path: file, layer: name, reason: (error as Error).message });
    }
  }
  return { ...contents, inspected: layers.map(({ source }) => source.table) };
}

/** Features of KML last from `begin` to `end`, where it says so. */
function withSpan(layer: VectorLayerInfo): VectorLayerInfo {
  const { source } = layer;
  const bounds: Record<string, Field['bound']> = { begin: 'start', end: 'end' };
  const isSpan = (name: string) =>
    source.fields.some((field) => field.name === name && field.type === 'date-time');
  if (!Object.keys(bounds).every(isSpan)) return layer;
  const fields = source.fields.map((field) => {
    const bound = bounds[field.name];
    return bound ? { ...field, bound } : field;
  });
  return { ...layer, source: { ...source, fields } };
}

/** In another CRS the same file is other data to caches. */
function versionsIn(version: string, { source: { crs } }: VectorLayerInfo): Versions {
  const tag = contentTag(crs).slice(0, 6);
  return { version: `${version}-${tag}`, origin: `${version}-${tag}` };
}

const NO_GEOMETRY =
  'Tables without a geometry are not published. Join the table to one with geometries in a view.';

/**
 * Tables of tiles are rasters to GDAL, with the zooms as overviews. It opens no GeoPackage without any: when it closes one
 * that another program writes to, it may move the log into the file, which then looks changed. Tables with neither tiles
 * nor geometries are named.
 */
async function readOtherTables(
  { kind, path }: TableFile,
  version: string,
  deps: FileDeps,
  inspected: readonly string[],
): Promise<Found> {
  const options = { deadlineMs: INSPECT_DEADLINE_MS };
  const { tiles, plain, problems } = await deps.inspector.run(
    'vector.otherTables',
    { kind, path, inspected },
    options,
  );
  const contents = await readLayers(tileLayers(path, tiles), path, version, deps);
  for (const layer of plain) contents.quarantined.push({ path, layer, reason: NO_GEOMETRY });
  contents.quarantined.push(...problems.map((problem) => ({ path, ...problem })));
  if (inspected.length === 0 && tiles.length + plain.length + problems.length === 0)
    contents.quarantined.push({ path, reason: 'The file has no feature tables, and no table of tiles.' });
  return contents;
}

/** A single table needs no table name: opening the file opens it. */
function tileLayers(path: string, tables: readonly string[]): RasterLayers['layers'] {
  if (tables.length === 1) return [{ source: { kind: 'file', path } }];
  return tables.map((table) => ({ name: table, source: { kind: 'file', path, table } }));
}

/** All rasters of a file or store that can contain several. */
async function readRasters(path: string, version: string, deps: FileDeps): Promise<Found> {
  const options = { deadlineMs: INSPECT_DEADLINE_MS };
  const { layers, problems } = await deps.inspector.run('raster.layers', { path }, options);
  const { collections, quarantined, members } = await readLayers(layers, path, version, deps);
  return {
    collections,
    quarantined: [...problems.map((problem) => ({ path, ...problem })), ...quarantined],
    members,
  };
}

/** The readable rasters. The rest is quarantined. */
async function readLayers(
  layers: RasterLayers['layers'],
  path: string,
  version: string,
  deps: FileDeps,
): Promise<Found> {
  const contents: Found = { collections: [], quarantined: [], members: [] };
  for (const layer of layers) {
    try {
      const { collections, members = [] } = await readRaster(layer, path, version, deps);
      contents.collections.push(...collections);
      contents.members!.push(...members);
    } catch (error) {
      if (!(error instanceof TaskFailure)) throw error;
      contents.quarantined.push({ path, layer: layer.name, reason: error.message });
      if (!isLasting(error)) contents.isPassing = true;
    }
  }
  return contents;
}

async function readRaster(
  { name, source }: RasterLayers['layers'][number],
  path: string,
  version: string,
  deps: FileDeps,
): Promise<Found> {
  const raster = await deps.inspector.run('raster.inspect', { source }, { deadlineMs: INSPECT_DEADLINE_MS });
  const group = getFileStem(path);
  const make = rasterCollection(raster, name ?? group, path, version);
  const { source: read } = raster;
  const members = (listMosaicMembers(read) ?? []).map((member) => describeRasterLocation(member.source));
  return { collections: [{ name: name ?? group, group, make }], quarantined: [], members };
}

/** A raster in a separate file, so operators can assign its CRS. */
async function readRasterFile(path: string, version: string, deps: FileDeps): Promise<Found> {
  const { '': crs } = deps.statedCrsOf(path);
  const assumeCrs = await sidecarCrs(path);
  const source: FileRaster = {
    kind: 'file',
    path,
    ...(crs !== undefined && { crs }),
    ...(assumeCrs !== undefined && { assumeCrs }),
  };
  // In another CRS the same file is other data to caches.
  const tag = crs === undefined ? '' : `-${contentTag(crs).slice(0, 6)}`;
  return readRaster({ source }, path, version + tag, deps);
}

async function readArchive(
  path: string,
  container: ArchiveContainer,
  version: string,
  deps: FileDeps,
): Promise<Found> {
  const options = { deadlineMs: INSPECT_DEADLINE_MS };
  const archive = await deps.inspector.run('vector.archive', { path, container }, options);
  const name = getFileStem(path);
  return {
    collections: [{ name, group: name, make: archiveCollection(archive, name, version) }],
    quarantined: [],
  };
}
