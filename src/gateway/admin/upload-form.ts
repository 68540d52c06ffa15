import Type from 'typebox';
import { MERGE_MODES, type MergeRequest } from '../../core/edits/merges.js';
import { badMember } from '../../core/errors/errors.js';
import { findEpsgCrs } from '../../native/crs.js';
import { namingReceived } from '../http/requests/received-value.js';

/** Fields of the upload form other than the file. */
export interface UploadForm {
  tableName: string;
  /** CRS of the coordinates, whatever the file says: `EPSG:n`. */
  sourceCrs: string | undefined;
  /** CRS to store the data in. */
  targetCrs: string;
  overwriteExisting: boolean;
  forceBackground: boolean;
  /** The rows are added to the existing collection of that name; a new collection is created if absent. */
  merge: MergeRequest | undefined;
}

export const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/;

/** Longitude and latitude (contract). */
const DEFAULT_SRID = 4326;

/** Documents the form; its members bind in any case. */
export const UploadFormSchema = Type.Object({
  file: Type.String({ format: 'binary' }),
  TableName: Type.String({
    maxLength: 255,
    description: `Table, and id of the collection: ${TABLE_NAME.source}. With a Mode other than create, the id of the collection that is there.`,
  }),
  TargetSchema: Type.Optional(Type.String({ description: 'Only main: the embedded store has one schema.' })),
  SourceSrid: Type.Optional(
    Type.Integer({ description: 'EPSG code of the coordinates; it goes before what the file says.' }),
  ),
  TargetSrid: Type.Optional(
    Type.Integer({
      default: DEFAULT_SRID,
      description: 'EPSG code of the CRS in which the data of a new collection is stored.',
    }),
  ),
  OverwriteExisting: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Whether the import replaces an imported collection, in one transaction.',
    }),
  ),
  Mode: Type.Optional(
    Type.Enum(['create', ...MERGE_MODES], {
      default: 'create',
      description:
        'create makes a new collection. append adds rows to an editable collection, replace replaces all its features, upsert updates features with the same key and adds the remaining rows. Each mode imports all rows or none.',
    }),
  ),
  KeyField: Type.Optional(
    Type.String({
      maxLength: 255,
      description: 'upsert only: field whose value identifies a feature.',
    }),
  ),
  RejectRows: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Whether the import skips and lists invalid rows. Otherwise the first invalid row ends the import.',
    }),
  ),
  ForceBackground: Type.Optional(Type.Boolean({ default: false })),
  TrackProgress: Type.Optional(Type.Boolean({ default: false })),
  UploadId: Type.Optional(Type.String()),
});

/** `fields` has lower case names. Throws 400 naming the first wrong field. */
export function parseUploadForm(fields: ReadonlyMap<string, string>): UploadForm {
  return namingReceived(
    (name) => fields.get(name.toLowerCase()),
    () => readForm(fields),
  );
}

function readForm(fields: ReadonlyMap<string, string>): UploadForm {
  const tableName = fields.get('tablename') ?? wrong('TableName', 'is required');
  const merge = findMerge(fields);
  if (!merge && !TABLE_NAME.test(tableName)) {
    wrong('TableName', 'must be 1 to 60 letters, digits and underscores, and must not start with a digit');
  }
  const targetSchema = fields.get('targetschema') || 'main';
  if (targetSchema !== 'main') wrong('TargetSchema', 'must be main, the only schema of the embedded store');
  return {
    tableName,
    sourceCrs: crs('SourceSrid', fields),
    targetCrs: crs('TargetSrid', fields) ?? `EPSG:${DEFAULT_SRID}`,
    overwriteExisting: flag('OverwriteExisting', fields),
    forceBackground: flag('ForceBackground', fields),
    merge,
  };
}

function findMerge(fields: ReadonlyMap<string, string>): MergeRequest | undefined {
  const text = (fields.get('mode') || 'create').toLowerCase();
  const rejectRows = flag('RejectRows', fields);
  const keyField = fields.get('keyfield') || undefined;
  if (text !== 'upsert' && keyField !== undefined) wrong('KeyField', 'is only for the Mode upsert');
  if (text === 'create') {
    if (rejectRows) wrong('RejectRows', 'is not for the Mode create. Use append, replace or upsert');
    return undefined;
  }
  const mode = MERGE_MODES.find((one) => one === text);
  if (!mode) return wrong('Mode', `must be one of create, ${MERGE_MODES.join(', ')}`);
  if (mode === 'upsert' && keyField === undefined) wrong('KeyField', 'is required for the Mode upsert');
  if (flag('OverwriteExisting', fields)) wrong('OverwriteExisting', 'is only for the Mode create');
  return { mode, rejectRows, ...(keyField === undefined ? {} : { keyField }) };
}

function crs(name: string, fields: ReadonlyMap<string, string>): string | undefined {
  const raw = fields.get(name.toLowerCase())?.trim();
  if (raw === undefined || raw === '') return undefined;
  const crs = /^\d{1,7}$/.test(raw) ? findEpsgCrs(Number(raw)) : undefined;
  return crs
    ? `EPSG:${crs.epsg}`
    : wrong(name, 'must be the EPSG code of a coordinate reference system, for example 4326');
}

/** A CRS by its code. Throws 400 naming the member. */
export function requireSrid(name: string, srid: number): string {
  const crs = findEpsgCrs(srid);
  return crs
    ? `EPSG:${crs.epsg}`
    : wrong(name, 'must be the EPSG code of a coordinate reference system, for example 4326');
}

function flag(name: string, fields: ReadonlyMap<string, string>): boolean {
  const raw = (fields.get(name.toLowerCase()) || 'false').toLowerCase();
  if (raw !== 'true' && raw !== 'false') wrong(name, 'must be true or false');
  return raw === 'true';
}

function wrong(name: string, detail: string): never {
  throw badMember(name, detail);
}
