import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { plainText } from '../../../core/values/percent.js';
import { resolveCrs } from '../../../native/crs.js';
import { tableName } from '../../catalog/table-name.js';
import { IMPORT_FORMATS } from '../../exchange/import-formats.js';
import { parseSourceUrl } from '../../uploads/remote-file.js';
import { getFormatExtension } from '../../uploads/upload.js';
import type { FileImport, ProcessDefinition } from '../definition.js';
import { makeOptional } from './parts.js';

/** Endings of the names of files that are imported. */
export const IMPORT_ENDINGS: ReadonlySet<string> = new Set(Object.keys(IMPORT_FORMATS));

const epsg = Type.Integer({ minimum: 1, maximum: 998_999 });

/** The inputs, as their schemas let them through. */
interface ImportValues {
  file: { href: string };
  fileName?: string;
  collection: string;
  title?: string;
  layer?: string;
  sourceSrid?: number;
  targetSrid?: number;
}

export const fileImport: ProcessDefinition = {
  id: 'conversion.import',
  title: 'Import',
  description: 'Imports a remote file as a collection.',
  keywords: ['vector', 'import'],
  inputs: {
    file: {
      title: 'File',
      description: 'URL of a file on a host in remote.allow.',
      schema: Type.Object({
        href: Type.String({ minLength: 1, maxLength: LIMITS.urlBytes }),
        type: Type.Optional(Type.String()),
      }),
    },
    fileName: makeOptional({
      title: 'File name',
      description: 'Name with an extension, if the URL does not show the format.',
      schema: Type.String({ minLength: 1, maxLength: 255 }),
    }),
    collection: {
      title: 'Collection',
      description: 'Id of the new collection: lowercase letters, digits and underscores.',
      schema: Type.String({ minLength: 1, maxLength: 60, pattern: '^[a-z_][a-z0-9_]*$' }),
    },
    title: makeOptional({
      title: 'Title',
      description: 'Title of the collection. Default: the layer name.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    layer: makeOptional({
      title: 'Layer',
      description: 'Layer of the file. Default: the first.',
      schema: Type.String({ minLength: 1, maxLength: 256 }),
    }),
    sourceSrid: makeOptional({
      title: 'CRS of the file',
      description: 'EPSG code of the coordinates. Overrides the CRS of the file.',
      schema: epsg,
    }),
    targetSrid: makeOptional({
      title: 'CRS of the collection',
      description: 'EPSG code. Default: the CRS of the file.',
      schema: epsg,
    }),
  },
  outputs: {
    collection: {
      title: 'Collection',
      description: 'Id and feature count of the collection, and the imported layer.',
      schema: Type.Object({ id: Type.String(), features: Type.Integer(), layer: Type.String() }),
    },
  },
  refuse(values) {
    const { url, fileName, table, sourceCrs, targetCrs } = readImport(values);
    const { pathname } = parseSourceUrl('/inputs/file/href', url);
    const ending = getFormatExtension(fileName ?? plainText(pathname.split('/').at(-1)!));
    if (!IMPORT_ENDINGS.has(ending))
      throw badParameter(
        fileName === undefined ? '/inputs/file/href' : '/inputs/fileName',
        `must end in one of ${[...IMPORT_ENDINGS].join(', ')}`,
      );
    if (table !== tableName(table))
      throw badParameter(
        '/inputs/collection',
        'must be lower-case letters, digits and underscores that start with a letter or an underscore',
      );
    if (sourceCrs) resolveCrs('/inputs/sourceSrid', sourceCrs);
    if (targetCrs) resolveCrs('/inputs/targetSrid', targetCrs);
  },
  work: { kind: 'import', read: readImport },
};

function readImport(values: Readonly<Record<string, unknown>>): FileImport {
  const { file, fileName, collection, title, layer, sourceSrid, targetSrid } =
    values as unknown as ImportValues;
  return {
    url: file.href,
    table: collection,
    ...(fileName === undefined ? {} : { fileName }),
    ...(title === undefined ? {} : { title }),
    ...(layer === undefined ? {} : { layer }),
    ...(sourceSrid === undefined ? {} : { sourceCrs: `EPSG:${sourceSrid}` }),
    ...(targetSrid === undefined ? {} : { targetCrs: `EPSG:${targetSrid}` }),
  };
}
