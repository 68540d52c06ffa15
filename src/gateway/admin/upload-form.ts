import Type from 'typebox';
import { ApiError } from '../../core/errors.js';

/** Fields of the form that uploads a file, beside the file itself. */
export interface UploadForm {
  tableName: string;
  /** EPSG code to assume when the file names none. */
  sourceSrid: number | undefined;
  overwriteExisting: boolean;
  forceBackground: boolean;
}

const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/;

/** Documents the form; its members bind in any case. */
export const UploadFormSchema = Type.Object({
  file: Type.String({ format: 'binary' }),
  TableName: Type.String({ pattern: TABLE_NAME.source, description: 'Table, and id of the collection.' }),
  TargetSchema: Type.Optional(Type.String({ description: 'Only main: the embedded store has one schema.' })),
  SourceSrid: Type.Optional(Type.Integer({ description: 'EPSG code when the file names no CRS.' })),
  TargetSrid: Type.Optional(Type.Integer({ enum: [4326], default: 4326 })),
  OverwriteExisting: Type.Optional(Type.Boolean({ default: false })),
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
  const targetSrid = whole('TargetSrid', fields) ?? 4326;
  if (targetSrid !== 4326)
    wrong('TargetSrid', 'can only be 4326: data keeps its CRS and is served in any other');
  return {
    tableName,
    sourceSrid: whole('SourceSrid', fields),
    overwriteExisting: flag('OverwriteExisting', fields),
    forceBackground: flag('ForceBackground', fields),
  };
}

function whole(name: string, fields: ReadonlyMap<string, string>): number | undefined {
  const raw = fields.get(name.toLowerCase());
  if (raw === undefined || raw === '') return undefined;
  return /^\d{1,7}$/.test(raw) ? Number(raw) : wrong(name, 'must be an EPSG code');
}

function flag(name: string, fields: ReadonlyMap<string, string>): boolean {
  const raw = (fields.get(name.toLowerCase()) || 'false').toLowerCase();
  if (raw !== 'true' && raw !== 'false') wrong(name, 'must be true or false');
  return raw === 'true';
}

function wrong(name: string, detail: string): never {
  throw new ApiError('invalid-body', `${name} ${detail}`, { errors: [{ name, detail }] });
}
