/**
 * Times with more precision than milliseconds. GDAL stores seconds as 32-bit floats and writes milliseconds: it would
 * round 59.9999 seconds to 60.
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Layer } from 'gdal-async';
import { PLACE_COLUMN } from '../../../../core/edits/merges.js';
import type { ExportDriver } from '../../../../core/exchange/ogr.js';
import { xmlEscaped } from '../../../../core/values/xml-text.js';
import { type Dataset, openWith } from '../../../gdal/gdal.js';
import { openInScratch } from '../../../gdal/scratch.js';
import { quote } from '../../../providers/geopackage/connection.js';
import { TIME_MARK } from '../../geojson/values.js';
import { hasText } from '../text-search.js';
import { vrtFields } from '../virtual-fields.js';

const NOTE = 'Times of the file have more digits than milliseconds: they are rounded to milliseconds.';

/** Formats that store times as text, and that GDAL reads as its own times. */
const TEXT_TIMES = new Set(['FlatGeobuf', 'GML', 'KML', 'LIBKML', 'GPX', 'MapInfo File']);

const findTimes = (layer: Layer) =>
  layer.fields
    .map(({ name, type }) => ({ name, type }))
    .filter(({ type }) => type.toLowerCase() === 'datetime');

/**
 * Columns of a GeoPackage that an export reads as text, because GDAL would round their times. For KML all columns of
 * times and dates, because GDAL does not write them as ISO 8601.
 */
export async function findTextTimes(
  source: Dataset,
  layer: Layer,
  format?: ExportDriver,
): Promise<ReadonlySet<string>> {
  if (source.driver.description !== 'GPKG') return new Set();
  if (format === 'KML')
    return new Set(layer.fields.map(({ name, type }) => (/^date/i.test(type) ? name : '')).filter(Boolean));
  const times = findTimes(layer);
  if (times.length === 0) return new Set();
  // The pattern is a nonzero digit after the third decimal.
  const tests = times.map(({ name }) => `max(${quote(name)} GLOB '*.[0-9][0-9][0-9]*[1-9]*')`).join(', ');
  const result = await source.executeSQLAsync(`SELECT ${tests} FROM ${quote(layer.name)}`);
  const hits = result.features.first().fields.toArray();
  return new Set(times.flatMap(({ name }, i) => (hits[i] === 1 ? [name] : [])));
}

/** Characters of a time to the end of its milliseconds. */
const TO_MILLISECONDS = 'YYYY-MM-DDTHH:MM:SS.sss'.length;

interface RowSelection {
  /**
   * Form of the times. `marked`: text with `TIME_MARK`, which becomes a time again in a GeoPackage. `text`: plain text.
   * `milliseconds`: text whose seconds have three decimals.
   */
  times: 'marked' | 'text' | 'milliseconds';
  /** Column by which the rows are sorted. The rows contain neither this column nor the key of the table. */
  idColumn?: string | undefined;
  /** Adds the column `PLACE_COLUMN` with the first bytes of each geometry, also of unreadable ones. */
  keepsGeometryPrefix?: boolean | undefined;
}

/** Bytes of a geometry that identify it. */
const PLACE_BYTES = 8;

/** SQL of the rows of a layer of a GeoPackage, with the times of some columns as text. */
export function selectRows(
  layer: Layer,
  columns: ReadonlySet<string>,
  { times, idColumn, keepsGeometryPrefix = false }: RowSelection,
): string {
  const names = layer.fields.getNames().filter((name) => name !== idColumn);
  const values = names.map((name) => {
    const column = quote(name);
    if (!columns.has(name)) return column;
    if (times === 'marked') return `'${TIME_MARK}' || ${column} AS ${column}`;
    if (times === 'text') return `'' || ${column} AS ${column}`;
    // The time zone follows the further digits.
    return `substr(${column}, 1, ${TO_MILLISECONDS}) || ltrim(substr(${column}, ${TO_MILLISECONDS + 1}), '0123456789') AS ${column}`;
  });
  const keys = idColumn === undefined ? [layer.fidColumn, layer.geomColumn] : [layer.geomColumn];
  const list = keys.filter((name) => name !== '').map(quote);
  const order = idColumn === undefined ? '' : ` ORDER BY ${quote(idColumn)}`;
  if (keepsGeometryPrefix)
    values.push(
      `CASE WHEN ${quote(layer.geomColumn)} IS NOT NULL
        THEN 'X''' || hex(substr(${quote(layer.geomColumn)}, 1, ${PLACE_BYTES})) || '''' END AS ${PLACE_COLUMN}`,
    );
  return `SELECT ${[...list, ...values].join(', ')} FROM ${quote(layer.name)}${order}`;
}

/** A layer of a GeoPackage with times that are truncated to milliseconds. */
export function openTruncated(
  path: string,
  layer: Layer,
  columns: ReadonlySet<string>,
  idColumn: string | undefined,
): Promise<Dataset> {
  const sql = selectRows(layer, columns, { times: 'milliseconds', idColumn });
  const fields = layer.fields.map((field) => field).filter(({ name }) => name !== idColumn);
  return openInScratch('times', async (folder) => {
    const wrapper = join(folder, 'layer.vrt');
    const name = xmlEscaped(layer.name);
    await writeFile(
      wrapper,
      `<OGRVRTDataSource><OGRVRTLayer name="${name}"><SrcDataSource>${xmlEscaped(path)}</SrcDataSource><SrcSQL>${xmlEscaped(sql)}</SrcSQL>${vrtFields(fields)}</OGRVRTLayer></OGRVRTDataSource>`,
    );
    return openWith(wrapper, ['OGR_VRT']);
  });
}

const FINE_TIME = /[T ]\d\d:\d\d:\d\d\.\d{3}\d*[1-9]/;
/** Maximum characters of a time, by which the parts of a search overlap. */
const OVERLAP = 64;

/** Returns a note about rounded times. Undefined if there are none. */
export async function describeRoundedTimes(
  path: string,
  driver: string,
  layer: Layer,
): Promise<string | undefined> {
  if (!TEXT_TIMES.has(driver) || findTimes(layer).length === 0) return undefined;
  return (await hasText(path, FINE_TIME, OVERLAP)) ? NOTE : undefined;
}
