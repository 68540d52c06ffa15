import type { Layer } from 'gdal-async';
import type { ExportDraft, TranslateTask } from '../../../core/exchange/ogr.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import { findFreeName } from '../../../core/values/column-names.js';
import { escapeHtml } from '../../../core/values/html.js';
import { getCrs } from '../../gdal/crs.js';
import { gdal } from '../../gdal/gdal.js';
import { ID_COLUMN } from './written-ids.js';

/** Drafts of exports: GeoJSON that is written as another format, with the types and ids that its source declares. */

/** GDAL option to read date-like strings as strings. Dates are cast to dates. */
const DATES_AS_TEXTS = 'OGR_GEOJSON_DATE_AS_STRING';

/** Runs `work`, which opens a file that can be a draft. This process runs one task at a time. */
export async function readingDraft<T>(isDraft: boolean, work: () => Promise<T>): Promise<T> {
  gdal.config.set(DATES_AS_TEXTS, isDraft ? 'YES' : null);
  return work();
}

/** Types that JSON does not show, or does not show if all values are null. */
const CASTS: Partial<Record<FieldType, string>> = {
  integer: 'bigint',
  number: 'float',
  date: 'date',
  'date-time': 'timestamp',
};

/** Integers of more than 32 bits would lose digits in KML. */
const DIGITS = 'character(20)';

/** Columns of ids and geometries whose names no field has: GDAL would take such a field for them, or drop it. */
export function keyArguments(fields: readonly string[]): string[] {
  const names = new Set(fields.map((name) => name.toLowerCase()));
  return [
    '-lco',
    `FID=${findFreeName('fid', names)}`,
    '-lco',
    `GEOMETRY_NAME=${findFreeName('geom', names)}`,
  ];
}

export function draftArguments(
  draft: ExportDraft,
  { format, table, sourceCrs }: TranslateTask,
  layer: Layer,
  hasMulti: boolean,
): string[] {
  const idColumn = chooseIdColumn(draft, layer);
  const keepsIds = format === 'GPKG' && draft.keepsIds === true;
  const ids = keepsIds && idColumn !== 'FID' ? { ...draft, idField: ID_COLUMN } : draft;
  return [
    ...[
      '-f',
      format!,
      '-nln',
      table,
      '-dialect',
      'OGRSQL',
      '-sql',
      selection(ids, layer.name, { idColumn, isKml: format === 'KML' }),
    ],
    ...(sourceCrs === undefined ? [] : ['-a_srs', getCrs(sourceCrs).text]),
    ...(draft.geometryType === 'Geometry'
      ? []
      : ['-nlt', geometryName(draft, format === 'ESRI Shapefile', hasMulti)]),
    ...(keepsIds && idColumn === 'FID' ? ['-preserve_fid'] : []),
    ...(format === 'GPKG' ? keyArguments(draft.fields.map(({ name }) => name)) : []),
    ...(format === 'ESRI Shapefile' ? ['-lco', 'ENCODING=UTF-8'] : []),
  ];
}

/** Returns the column of the ids. GDAL adds one if some ids are negative, because its own ids never are. */
function chooseIdColumn({ fields }: ExportDraft, layer: Layer): string {
  const isIdColumn = layer.fields.getNames().includes('id') && !fields.some(({ name }) => name === 'id');
  return isIdColumn ? quote('id') : 'FID';
}

interface DraftSource {
  idColumn: string;
  isKml: boolean;
}

function selection(
  { fields, idField, isEmpty }: ExportDraft,
  layer: string,
  { idColumn, isKml }: DraftSource,
): string {
  const columns = fields.map(({ name, type }) => {
    const column = quote(name);
    const shown = isKml ? quote(kmlName(name)) : column;
    const cast = isKml && type === 'integer' ? DIGITS : CASTS[type];
    if (cast !== undefined) return `CAST(${column} AS ${cast}) AS ${shown}`;
    return shown === column ? column : `${column} AS ${shown}`;
  });
  const id = idField === undefined ? [] : [`${idColumn} AS ${quote(isKml ? kmlName(idField) : idField)}`];
  const list = [...id, ...columns].join(', ') || 'FID';
  return `SELECT ${list} FROM ${quote(layer)}${isEmpty ? ' WHERE FID = -1' : ''}`;
}

/** Returns a name as an XML attribute, because GDAL's KML driver does not escape field names. */
const kmlName = (name: string) => escapeHtml(name.replace(/\p{Cc}/gu, ' '));

/** Types of geometries of one part. GDAL would merge the parts of multi geometries in a layer of such a type. */
export const isSingle = ({ geometryType }: ExportDraft) => /^(Point|LineString|Polygon)$/.test(geometryType);

/** Sources of single geometries may have multi ones too: geographies across 180 degrees are cut there. Shapefiles have no types for them. */
function geometryName({ geometryType, hasZ }: ExportDraft, isShapefile: boolean, hasMulti: boolean): string {
  const name = geometryType.toUpperCase();
  const single = isShapefile && /^MULTI(LINESTRING|POLYGON)$/.test(name) ? name.slice(5) : name;
  return `${hasMulti && !isShapefile ? 'MULTI' : ''}${single}${hasZ ? 'Z' : ''}`;
}

const quote = (name: string) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
