/** The rows of a staging GeoPackage, as their file has them. */

import { featureTexts } from '../../../core/edits/feature-text.js';
import {
  FEATURE_COLUMN,
  type FileForm,
  JSON_MARK,
  PLACE_COLUMN,
  PROPERTY_TABLE,
} from '../../../core/edits/merges.js';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { FieldError } from '../../../core/errors/field-errors.js';
import type { PageKey } from '../../../core/features/features.js';
import { GEOJSON_GEOMETRIES } from '../../../core/geometry/geojson-types.js';
import type { GeoPackageSource } from '../../../core/sources/vector-source.js';
import { type JsonText, membersIn } from '../../../core/values/json-text.js';
import { connect, quote } from '../../providers/geopackage/connection.js';
import { items } from '../../providers/geopackage/queries/items.js';
import { inspectGeoPackage } from '../../providers/geopackage/schema/inspect.js';

export interface FileRow {
  /** Its place in the file, counted from 1. */
  row: number;
  /** Id in the file. A number assigned by Graticule if the file does not have ids. */
  id: string;
  /** GeoJSON geometry or `null`, in the CRS of the file. Absent if the file does not say whether there is one. */
  geometry?: JsonText;
  /** Values by column name. Columns that the row does not name are absent. */
  values: ReadonlyMap<string, JsonText>;
  /** Why the row cannot be read. */
  problem?: FieldError;
}

export interface FileRows {
  /** Its CRS, with x before y. */
  crs: string;
  names: readonly string[];
  form: FileForm;
  /** All rows in the order of their ids, or of the file where it keeps the text of features. */
  read(): Generator<FileRow>;
}

const PAGE = 500;
const PAGE_BYTES = 8_388_608;
/** Decimal places that distinguish any two stored positions. */
const EXACT = 15;
/** Characters of a text that an error quotes. */
const QUOTED = 60;

/** Opens a staging file, whose columns are all texts where its file is one of text. */
export function openRows(staging: string, table: string, isText: boolean): FileRows {
  const layer = inspectGeoPackage(staging).find(({ source }) => source.table === table);
  if (!layer) throw new TaskFailure('invalid-input', 'The staging file has no such feature table.');
  const source = layer.source as GeoPackageSource;
  const { crs } = source;
  if (source.fields.some(({ name }) => name === FEATURE_COLUMN))
    return { crs, form: 'json', names: propertyNames(staging), read: () => readFeatures(source) };
  const names = source.fields.map(({ name }) => name).filter((name) => name !== PLACE_COLUMN);
  return { crs, form: isText ? 'text' : 'typed', names, read: () => readColumns(source) };
}

function propertyNames(path: string): string[] {
  const db = connect(path, true);
  try {
    return db.prepare(`SELECT name FROM ${PROPERTY_TABLE} ORDER BY n`).pluck().all() as string[];
  } finally {
    db.close();
  }
}

function* readFeatures({ path, table, idColumn }: GeoPackageSource): Generator<FileRow> {
  const db = connect(path, true);
  try {
    const rows = db
      .prepare(
        `SELECT ${quote(idColumn)} AS row, ${FEATURE_COLUMN} AS text FROM ${quote(table)} ORDER BY ${quote(idColumn)}`,
      )
      .iterate() as IterableIterator<{ row: number; text: string }>;
    for (const { row, text } of rows) yield rowOfFeature(row, text);
  } finally {
    db.close();
  }
}

const NO_VALUES: ReadonlyMap<string, JsonText> = new Map();

function rowOfFeature(row: number, text: string): FileRow {
  const members = membersIn(text)!;
  const type = members.get('type') ?? 'null';
  const [id, geometry, properties] = ['id', 'geometry', 'properties'].map((name) => members.get(name));
  const ids = id !== undefined && /^["\d-]/.test(id) ? String(JSON.parse(quoted(id))) : String(row);
  const place = geometry === undefined ? {} : { geometry };
  if (GEOJSON_GEOMETRIES.some((name) => type === `"${name}"`))
    return { row, id: ids, geometry: text, values: NO_VALUES };
  if (type !== '"Feature"') {
    const problem = {
      name: '',
      detail: `must be a GeoJSON Feature, but its type is ${type.slice(0, QUOTED)}`,
    };
    return { row, id: ids, values: NO_VALUES, problem };
  }
  const values = new Map(properties === undefined ? [] : membersIn(properties));
  // Programs without string ids read those as a property.
  if (id?.startsWith('"') && !values.has('id')) values.set('id', id);
  return { row, id: ids, ...place, values };
}

/** Digits of a number stay text. */
const quoted = (json: JsonText) => (json.startsWith('"') ? json : `"${json}"`);

function* readColumns(source: GeoPackageSource): Generator<FileRow> {
  const hasPlaces = source.fields.some(({ name }) => name === PLACE_COLUMN);
  let after: PageKey | undefined;
  let row = 0;
  for (let more = true; more; ) {
    const page = items({
      source,
      filter: undefined,
      format: 'geojson',
      crs: source.crs,
      swapAxes: false,
      precision: EXACT,
      limit: PAGE,
      offset: 0,
      maxBytes: PAGE_BYTES,
      ...(after ? { after } : {}),
    });
    for (const { id, geometry, properties } of featureTexts(page.features)) {
      row++;
      const members = membersIn(properties)!;
      const place = members.get(PLACE_COLUMN) ?? 'null';
      members.delete(PLACE_COLUMN);
      if (geometry !== 'null') yield { row, id, geometry, values: unmarked(members) };
      else if (place !== 'null' && place !== '""')
        yield { row, id, values: members, problem: { name: '/geometry', detail: parseDetail(place) } };
      else yield { row, id, ...(hasPlaces ? { geometry } : {}), values: unmarked(members) };
    }
    after = page.last;
    more = page.more && page.returned > 0;
  }
}

function parseDetail(place: JsonText): string {
  const text = place.startsWith('"') ? (JSON.parse(place) as string) : place;
  return `cannot be read: ${text.slice(0, QUOTED)}`;
}

/** Returns values that arrived as JSON text. Members that a feature does not have are null in them. */
function unmarked(members: Map<string, JsonText>): ReadonlyMap<string, JsonText> {
  const isMarked = (json: JsonText) => json.startsWith(`"${JSON_MARK}`);
  if (![...members.values()].some(isMarked)) return members;
  return new Map(
    [...members].flatMap(([name, json]) =>
      isMarked(json) ? [[name, (JSON.parse(json) as string).slice(JSON_MARK.length)] as const] : [],
    ),
  );
}
