import Type from 'typebox';
import { ApiError } from '../../core/errors.js';
import { crsOfEpsg } from '../../native/crs.js';

/** Fields of the form that uploads a file, beside the file itself. */
export interface UploadForm {
  tableName: string;
  /** CRS of the coordinates, whatever the file says: `EPSG:n`. */
  sourceCrs: string | undefined;
  /** CRS to store the data in. */
  targetCrs: string;
  overwriteExisting: boolean;
  forceBackground: boolean;
}

export const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/;

/** Longitude and latitude (contract). */
const DEFAULT_SRID = 4326;

/** Documents the form; its members bind in any case. */
export const UploadFormSchema = Type.Object({
  file: Type.String({ format: 'binary' }),
  TableName: Type.String({ pattern: TABLE_NAME.source, description: 'Table, and id of the collection.' }),
  TargetSchema: Type.Optional(Type.String({ description: 'Only main: the embedded store has one schema.' })),
  SourceSrid: Type.Optional(
    Type.Integer({ description: 'EPSG code of the coordinates; it goes before what the file says.' }),
  ),
  TargetSrid: Type.Optional(
    Type.Integer({ default: DEFAULT_SRID, description: 'EPSG code of the CRS in which the data is stored.' }),
  ),
  OverwriteExisting: Type.Optional(
    Type.Boolean({ default: false, description: 'Replaces a collection that was imported, all at once.' }),
  ),
  ForceBackground: Type.Optional(Type.Boolean({ default: false })),
  TrackProgress: Type.Optional(Type.Boolean({ default: false })),
  UploadId: Type.Optional(Type.String()),
});

/** `fields` has lower case names. Throws 400 naming the first wrong field. */
export function parseUploadForm(fields: ReadonlyMap<string, string>): UploadForm {
  const tableName = fields.get('tablename') ?? wrong('TableName', 'is required');
  if (!TABLE_NAME.test(tableName)) {
    wrong('TableName', 'must be letters, digits and underscores, at most 60, and not begin with a digit');
  }
  const targetSchema = fields.get('targetschema') || 'main';
  if (targetSchema !== 'main') wrong('TargetSchema', 'can only be main: the embedded store has one schema');
  return {
    tableName,
    sourceCrs: crs('SourceSrid', fields),
    targetCrs: crs('TargetSrid', fields) ?? `EPSG:${DEFAULT_SRID}`,
    overwriteExisting: flag('OverwriteExisting', fields),
    forceBackground: flag('ForceBackground', fields),
  };
}

function crs(name: string, fields: ReadonlyMap<string, string>): string | undefined {
  const raw = fields.get(name.toLowerCase())?.trim();
  if (raw === undefined || raw === '') return undefined;
  const crs = /^\d{1,7}$/.test(raw) ? crsOfEpsg(Number(raw)) : undefined;
  return crs ? `EPSG:${crs.epsg}` : wrong(name, 'must be the EPSG code of a coordinate reference system');
}

/** A CRS by its code. Throws 400 naming the member. */
export function requireSrid(name: string, srid: number): string {
  const crs = crsOfEpsg(srid);
  return crs ? `EPSG:${crs.epsg}` : wrong(name, 'must be the EPSG code of a coordinate reference system');
}

function flag(name: string, fields: ReadonlyMap<string, string>): boolean {
  const raw = (fields.get(name.toLowerCase()) || 'false').toLowerCase();
  if (raw !== 'true' && raw !== 'false') wrong(name, 'must be true or false');
  return raw === 'true';
}

function wrong(name: string, detail: string): never {
  throw new ApiError('invalid-body', `${name} ${detail}`, { errors: [{ name, detail }] });
}
