/** Task `ogr.translate`: converts any OGR vector file to a staging GeoPackage. */

import { stat } from 'node:fs/promises';
import type { Layer } from 'gdal-async';
import { TaskFailure } from '../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type {
  ExportDraft,
  ExportDriver,
  TranslateResult,
  TranslateTask,
} from '../../../core/exchange/ogr.js';
import { noteListText, noteTruncatedTimes } from '../../../core/features/value-notes.js';
import { type GdalCrs, getCrs, readDatasetCrs } from '../../gdal/crs.js';
import { listDatasetNotes, noteDataset } from '../../gdal/dataset-notes.js';
import { type Dataset, gdal, unreadable } from '../../gdal/gdal.js';
import { copyPath, partPath, removePart } from '../../gdal/parts.js';
import { quote } from '../../providers/geopackage/connection.js';
import { openExportDraft } from '../geojson/draft.js';
import { isParquet } from '../parquet/file.js';
import { translateParquet } from '../parquet/translate.js';
import { writeParquet } from '../parquet/write.js';
import { describeDamagedText } from './damaged-text.js';
import { draftArguments, isSingle, keyArguments, readingDraft } from './draft.js';
import { describeCurves } from './formats/curves.js';
import { describeRoundedTimes, findTextTimes, openTruncated, selectRows } from './formats/fine-times.js';
import { areKept, describeLostIds, featureIdsIn, haveNegative } from './formats/geojson-ids.js';
import { findSheetCoordinates, requirePlaces, writePointQuery } from './formats/spreadsheet.js';
import { baseGeometryCode, convertGeometryType, hasNoGeometry, hasZ, openVector } from './ogr.js';
import { writeColumnIds, writeKeyIds } from './original-ids.js';
import { finishTimes } from './staged-times.js';
import { commitOutput, describeTranslationFailure, requireNewFile } from './translation.js';
import { countPlacedFeatures, describeUnreadPlaces } from './unread-places.js';
import { describeJsonFault } from './unreadable.js';
import { binaryFields, finishBytes, noteBytes } from './written-bytes.js';
import { finishIds } from './written-ids.js';

/** Files below this report no progress. */
const PROGRESS_BYTES = 8 << 20;

/** Rows per transaction. */
const TRANSACTION_ROWS = String(EXCHANGE_LIMITS.importBatch);

/**
 * Writes `part`, then renames it to its final name, so that the output exists only when it is complete. Reports
 * progress from 0 to 1.
 */
export async function translate(
  task: TranslateTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult> {
  await checkOutput(task);
  if (task.format === 'Parquet') return exportParquet(task, part, onProgress);
  if (isParquet(task.path))
    return task.targetCrs === undefined
      ? translateTable(task, part, onProgress)
      : projectTable(task, part, onProgress);
  const { draft, format } = task;
  if (!draft || !format) {
    const source = await readingDraft(false, () => openVector(task.path, task));
    const truncated = await truncate(source, task);
    return translateAndClose(truncated?.source ?? source, truncated?.task ?? task, part, onProgress);
  }
  const opened = await readingDraft(true, () => openExportDraft(task.path, draft, format));
  return translateAndClose(opened.dataset, { ...task, draft: opened.draft }, part, onProgress);
}

/** Returns a source whose times the format can represent. Undefined if no change is needed. */
async function truncate(
  source: Dataset,
  task: TranslateTask,
): Promise<{ source: Dataset; task: TranslateTask } | undefined> {
  const { format } = task;
  if (format === undefined || format === 'GPKG' || TEXT_FORMATS.has(format)) return undefined;
  const layer = parseLayer(source, task.layer);
  const columns = await findTextTimes(source, layer);
  if (columns.size === 0) return undefined;
  const { idColumn, ...rest } = task;
  const truncated = await openTruncated(source.description, layer, columns, idColumn);
  const close = truncated.close.bind(truncated);
  // The source may be a copy that lasts until it is closed.
  truncated.close = () => {
    close();
    source.close();
  };
  for (const note of [...listDatasetNotes(source), ...noteTruncatedTimes([...columns])])
    noteDataset(truncated, note);
  return { source: truncated, task: rest };
}

async function translateAndClose(
  source: Dataset,
  task: TranslateTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult> {
  try {
    return await translateOpened(source, task, part, onProgress);
  } finally {
    source.close();
  }
}

/** Same as `translate`, for an open dataset. */
export async function translateOpened(
  source: Dataset,
  task: TranslateTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult> {
  try {
    const layer = parseLayer(source, task.layer);
    const ids = await loadIds(task, source, layer);
    const lost = task.draft ? [] : await notesOfLayer(task, source, layer);
    const unplaced = await countUnplaced(task, source, layer);
    if (unplaced > 0)
      lost.push(
        `Features without a geometry are omitted, because the format does not contain them. Number of features: ${unplaced}.`,
      );
    const options = { progress_cb: (fraction: number) => onProgress(fraction) };
    // GDAL waits for each call: that takes longer than a small file.
    const file = await stat(task.path);
    const isSmall = file.isFile() && file.size < PROGRESS_BYTES;
    const write = async (keepsIds: boolean) => {
      const args = await translateArguments(task, source, layer, keepsIds);
      return gdal.vectorTranslateAsync(part, source, args, isSmall ? {} : options);
    };
    let idNote = ids.note;
    let { areKept } = ids;
    const copy = await write(ids.areKept && ids.later === undefined).catch(async (error: unknown) => {
      if (!ids.areKept || unreadable('', error).code !== 'source-unreadable') throw error;
      await removePart(part);
      const again = await write(false);
      idNote = ROW_NUMBERS;
      areKept = false;
      return again;
    });
    // Write-only drivers cannot count the features that they wrote.
    const written = await (task.format ? layer : copy.layers.get(task.table)).features.countAsync(true);
    const features = written - unplaced;
    const coordinates = findSheetCoordinates(layer, source.driver.description);
    const renamed = task.format ? undefined : noteOfNames(layer, copy.layers.get(task.table), coordinates);
    if (coordinates) requirePlaces(copy.layers.get(0));
    copy.close();
    if (task.format === undefined || task.format === 'GPKG') finishTimes(part, task.table);
    if (task.draft?.keepsIds && task.format === 'GPKG') finishIds(part, task.table);
    const binary = task.draft ? binaryFields(task.draft) : [];
    if (task.format === 'GPKG') finishBytes(part, task.table, binary);
    else if (binary.length > 0) lost.push(noteBytes(binary));
    if (ids.later) {
      const write = ids.later === 'keys' ? writeKeyIds : writeColumnIds;
      const isWritten = await write(task.path, part, task.table);
      if (!isWritten) idNote = UNKNOWN_FEATURES;
      if (!isWritten && ids.later === 'keys') areKept = false;
    }
    const unread =
      task.format || task.keepsValues
        ? undefined
        : await describeUnreadPlaces(
            source,
            layer,
            task.path,
            { path: part, table: task.table },
            features === task.maxFeatures,
          );
    const damaged = task.format
      ? undefined
      : await describeDamagedText(task.path, { path: part, table: task.table });
    await commitOutput(part, task.output);
    onProgress(1);
    const added = [renamed, unread, damaged].filter((note) => note !== undefined);
    const notes = [...listDatasetNotes(source), ...lost, ...added];
    return {
      features,
      ...(notes.length === 0 ? {} : { notes }),
      ...(idNote === undefined ? {} : { idNote }),
      ...(areKept ? { keepsIds: true } : {}),
    };
  } catch (error) {
    const fault = await describeJsonFault(task.path).catch(() => undefined);
    throw await describeTranslationFailure(
      part,
      fault ??
        'The vector file could not be converted: it is damaged, or has content that a GeoPackage cannot store.',
      error,
    );
  } finally {
    await removePart(part);
  }
}

/** Returns sentences about data that has another form in a copy of a layer. */
async function notesOfLayer(
  { path, format }: TranslateTask,
  source: Dataset,
  layer: Layer,
): Promise<string[]> {
  const notes = [
    format === undefined || format === 'GeoJSONSeq' ? await describeCurves(source, layer) : undefined,
    await describeRoundedTimes(path, source.driver.description, layer),
    ...(format === undefined ? noteListText(listsIn(layer)) : []),
  ];
  return notes.filter((note) => note !== undefined);
}

/** Fields whose values are lists, such as elements of GML that are repeated. */
const listsIn = (layer: Layer): string[] =>
  layer.fields.map(({ name, type }) => (type.endsWith('[]') ? name : '')).filter(Boolean);

/** Returns a note about renamed fields. GeoPackage field names are case-insensitive. Columns of coordinates are not copied. */
function noteOfNames(layer: Layer, copy: Layer, coordinates: readonly string[] = []): string | undefined {
  const names = copy.fields.getNames();
  const copied = layer.fields.getNames().filter((name) => !coordinates.includes(name));
  const renamed = copied.flatMap((name, i) => {
    const other = names[i];
    return names.includes(name) || other === undefined ? [] : [`${name} (now ${other})`];
  });
  if (renamed.length === 0) return undefined;
  return `Names of fields that differ in their case alone are changed: ${renamed.slice(0, 20).join(', ')}.`;
}

async function translateTable(
  task: TranslateTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult> {
  try {
    const features = await translateParquet(task, part, onProgress);
    const damaged = await describeDamagedText(task.path, { path: part, table: task.table });
    await commitOutput(part, task.output);
    return damaged === undefined ? { features } : { features, notes: [damaged] };
  } catch (error) {
    throw await describeTranslationFailure(
      part,
      'The Parquet file is damaged, or has content that a GeoPackage cannot store.',
      error,
    );
  } finally {
    await removePart(part);
  }
}

/** A table in another CRS is copied first: OGR projects the copy. */
async function projectTable(
  task: TranslateTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult> {
  const copy = copyPath(part);
  try {
    await translateParquet(task, copy, (fraction) => onProgress(fraction / 2));
    const { sourceCrs: _, ...rest } = task;
    const again = { ...rest, path: copy, layer: task.table };
    return await translate(again, part, (fraction) => onProgress((1 + fraction) / 2));
  } catch (error) {
    throw await describeTranslationFailure(
      part,
      'The Parquet file is damaged, or has content that a GeoPackage cannot store.',
      error,
    );
  } finally {
    await removePart(part);
  }
}

/** Parquet is written from a GeoPackage, whose values have the types of the source. */
async function exportParquet(
  task: TranslateTask,
  part: string,
  onProgress: (fraction: number) => void,
): Promise<TranslateResult> {
  const copy = copyPath(part);
  const { idField = task.draft ? undefined : 'fid', ...draft } = task.draft ?? {};
  const copied = {
    ...{ ...task, format: 'GPKG' as const, output: copy },
    ...(task.draft ? { draft: draft as ExportDraft } : {}),
  };
  try {
    const result = await translate(copied, partPath(copy, process.pid), (done) => onProgress(done / 2));
    const output = { idField, crs: task.sourceCrs };
    const { features, notes } = writeParquet(copy, part, output, (done) => onProgress((1 + done) / 2));
    await commitOutput(part, task.output);
    const all = [...(result.notes ?? []), ...notes];
    return { ...result, features, ...(all.length > 0 && { notes: all }) };
  } catch (error) {
    throw await describeTranslationFailure(part, 'The layer has content that Parquet cannot store.', error);
  } finally {
    await removePart(part);
  }
}

async function checkOutput({ output, table }: TranslateTask): Promise<void> {
  if (!/^[A-Za-z0-9_]{1,63}$/.test(table))
    throw new TaskFailure('invalid-input', 'The table name is not a plain identifier.');
  await requireNewFile(output);
}

function parseLayer(source: Dataset, name: string | undefined): Layer {
  if (source.layers.count() === 0)
    throw new TaskFailure('source-unreadable', 'The file has no vector layer.');
  if (name === undefined) return source.layers.get(0);
  if (!source.layers.map((layer) => layer.name).includes(name))
    throw new TaskFailure('invalid-input', 'The file has no such layer.');
  return source.layers.get(name);
}

async function translateArguments(
  task: TranslateTask,
  source: Dataset,
  layer: Layer,
  keepsIds: boolean,
): Promise<string[]> {
  const coordinates = findSheetCoordinates(layer, source.driver.description);
  if (!coordinates && !task.draft && hasNoGeometry(layer.geomType))
    throw new TaskFailure('invalid-input', 'The layer has no geometry.');
  const own = readDatasetCrs(layer);
  const sourceCrs = task.sourceCrs ?? (own ? undefined : task.assumeCrs);
  if (!own && sourceCrs === undefined && !task.mayLackCrs) {
    throw new TaskFailure(
      'invalid-input',
      'The file has no coordinate reference system. Assign one, for example with SourceSrid or --crs.',
    );
  }
  if (task.draft) {
    const types = isSingle(task.draft) ? await geometryTypesIn(source, layer) : new Set<string>();
    const hasMulti = [...types].some((type) => type.startsWith('MULTI'));
    return draftArguments(task.draft, task, layer, hasMulti);
  }
  const fine = await findTextTimes(source, layer, task.format);
  if (task.format)
    return [
      ...exportArguments(task.format, task.table, sourceCrs),
      ...rowArguments(layer, task.format, fine, task.idColumn),
    ];
  const keepsGeometryPrefix = task.keepsValues === true && source.driver.description === 'GPKG';
  return [
    ...['-f', 'GPKG', '-nln', task.table, '-gt', TRANSACTION_ROWS],
    ...(task.maxFeatures === undefined ? [] : ['-limit', String(task.maxFeatures)]),
    ...keyArguments(layer.fields.getNames()),
    ...['-lco', 'SPATIAL_INDEX=NO'],
    ...(coordinates || !keepsIds ? [] : ['-preserve_fid']),
    ...projection(task, own, sourceCrs),
    ...(coordinates
      ? ['-nlt', 'POINT', '-dialect', 'SQLite', '-sql', writePointQuery(layer, coordinates)]
      : ['-nlt', 'CONVERT_TO_LINEAR', ...(await geometryArguments(source, layer))]),
    ...(coordinates
      ? []
      : fine.size > 0 || keepsGeometryPrefix
        ? ['-sql', selectRows(layer, fine, { times: 'marked', keepsGeometryPrefix })]
        : [layer.name]),
  ];
}

/** Number of features without a geometry in a FlatGeobuf file. GDAL 3.6 omits them. */
async function countUnplaced(
  { format, draft, path }: TranslateTask,
  source: Dataset,
  layer: Layer,
): Promise<number> {
  if (format !== 'FlatGeobuf' || draft?.isEmpty) return 0;
  if (draft) return (await layer.features.countAsync(true)) - (await countPlacedFeatures(path));
  if (source.driver.description !== 'GPKG' || layer.geomColumn === '') return 0;
  const sql = `SELECT count(*) FROM ${quote(layer.name)} WHERE ${quote(layer.geomColumn)} IS NULL`;
  return Number((await source.executeSQLAsync(sql)).features.first().fields.get(0));
}

/**
 * Arguments that set the CRS of the coordinates to `sourceCrs`, and project the coordinates if another CRS is
 * required.
 */
function projection(
  { targetCrs }: TranslateTask,
  own: GdalCrs | null,
  sourceCrs: string | undefined,
): string[] {
  const source = sourceCrs === undefined ? own?.text : getCrs(sourceCrs).text;
  if (source === undefined) return [];
  const target = targetCrs === undefined ? source : getCrs(targetCrs).text;
  if (isSameCrs(target, source)) return sourceCrs === undefined ? [] : ['-a_srs', source];
  return [...(sourceCrs === undefined ? [] : ['-s_srs', source]), '-t_srs', target];
}

/** Longitude comes first in every file that OGR writes: CRS84 and EPSG:4326 do not differ there. */
function isSameCrs(a: string, b: string): boolean {
  const plain = (text: string) => (text === 'OGC:CRS84' ? 'EPSG:4326' : text);
  return plain(a) === plain(b);
}

/** Arguments of formats with a fixed CRS. Coordinates of other formats remain in the stored CRS. */
function exportArguments(format: ExportDriver, table: string, sourceCrs: string | undefined): string[] {
  const named = ['-f', format, '-nln', table];
  const crs = (option: string) => (sourceCrs === undefined ? [] : [option, getCrs(sourceCrs).text]);
  switch (format) {
    case 'GeoJSON':
      return [...named, ...crs('-s_srs'), '-t_srs', 'OGC:CRS84', '-lco', 'RFC7946=YES'];
    case 'GeoJSONSeq':
      // The file will be read again, so no digits of a coordinate may be lost.
      return [...named, ...crs('-s_srs'), '-t_srs', 'OGC:CRS84', '-lco', 'COORDINATE_PRECISION=15'];
    case 'KML':
      return [...named, ...crs('-s_srs'), '-t_srs', 'OGC:CRS84'];
    case 'CSV':
      return [...named, ...crs('-a_srs'), '-lco', 'GEOMETRY=AS_WKT'];
    default:
      return [...named, ...crs('-a_srs')];
  }
}

/** Formats whose times are text: they keep all digits. */
const TEXT_FORMATS: ReadonlySet<ExportDriver> = new Set(['CSV', 'GeoJSON', 'GeoJSONSeq', 'KML']);

/** Arguments that select the layer, or its rows in the order of a column, which is omitted. */
function rowArguments(
  layer: Layer,
  format: ExportDriver,
  fine: ReadonlySet<string>,
  idColumn: string | undefined,
): string[] {
  if (idColumn === undefined && fine.size === 0) return [layer.name];
  return ['-sql', selectRows(layer, fine, { times: format === 'GPKG' ? 'marked' : 'text', idColumn })];
}

/** Formats in which only the text distinguishes the features' ids from GDAL's numbers. */
const JSON_DRIVERS = new Set(['GeoJSON', 'GeoJSONSeq']);

const ROW_NUMBERS = 'Some ids of features are repeated. Row numbers replace the ids.';

const UNKNOWN_FEATURES =
  'The file has geometries without features. Row numbers replace the ids of the features.';

interface KeptIds {
  areKept: boolean;
  /** Ids that GDAL changes are written into its copy: as keys, or into the column that it gives them. */
  later?: 'keys' | 'column';
  /** Note about ids that are not kept. */
  note?: string | undefined;
}

async function loadIds(
  { path, format, draft }: TranslateTask,
  source: Dataset,
  layer: Layer,
): Promise<KeptIds> {
  if (format !== undefined || draft) return { areKept: false };
  if (!JSON_DRIVERS.has(source.driver.description)) return { areKept: hasIds(layer) };
  const ids = await featureIdsIn(path);
  // GDAL takes a property `id` for the id where there is none.
  if (ids.integers === 0 && ids.problem === undefined) return { areKept: hasIds(layer) };
  const note = describeLostIds(ids);
  if (!areKept(ids)) return { areKept: false, note, later: 'column' };
  return { areKept: true, note, ...(haveNegative(ids) ? { later: 'keys' } : {}) };
}

/** Number of features whose ids are checked. */
const SAMPLE = 100;

/** Whether features have real ids and not only their positions, counted from 0 or from 1. */
function hasIds(layer: Layer): boolean {
  let place = 0;
  for (const { fid } of layer.features) {
    if (fid !== place && fid !== place + 1) return true;
    if (++place === SAMPLE) break;
  }
  return false;
}

/** The declared type of the output, wide enough for every feature and no wider. */
async function geometryArguments(source: Dataset, layer: Layer): Promise<string[]> {
  const code = baseGeometryCode(layer.geomType);
  const z = hasZ(layer.geomType) ? 'Z' : '';
  // Shapefiles, and formats that copy them, also declare multi geometries as Polygon and LineString.
  if (code === 2 || code === 3) return ['-nlt', code === 2 ? `MULTILINESTRING${z}` : `MULTIPOLYGON${z}`];
  if (convertGeometryType(layer.geomType) !== 'Geometry') return [];
  const types = await geometryTypesIn(source, layer);
  for (const type of ['POINT', 'LINESTRING', 'POLYGON']) {
    const dimension = [...types].some((name) => name.includes(' Z')) ? 'Z' : '';
    const names = new Set([...types].map((name) => name.replace(/ [ZM]+$/, '')));
    if (names.size === 0 || [...names].some((name) => name !== type && name !== `MULTI${type}`)) continue;
    return ['-nlt', names.has(`MULTI${type}`) ? `MULTI${type}${dimension}` : `${type}${dimension}`];
  }
  return [];
}

/** OGC names of the geometry types that really occur. */
async function geometryTypesIn(source: Dataset, layer: Layer): Promise<Set<string>> {
  const table = `"${layer.name.replaceAll('"', '\\"')}"`;
  const result = await source.executeSQLAsync(
    `SELECT DISTINCT OGR_GEOMETRY FROM ${table} WHERE OGR_GEOMETRY IS NOT NULL`,
    undefined,
    'OGRSQL',
  );
  return new Set(result.features.map((feature) => String(feature.fields.get(0)).toUpperCase()));
}
