/** Metadata of a Parquet file and its geometries (GeoParquet 1.1, and Parquet's own geometry type). */

import { type FileHandle, open } from 'node:fs/promises';
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync } from 'hyparquet';
import { TaskFailure } from '../../../core/errors/failure.js';
import { getCrs } from '../../gdal/crs.js';
import { gdal, plainFile, unreadable } from '../../gdal/gdal.js';
import { NATIVE } from './geometry.js';

/** Longest metadata that is read. */
const MAX_METADATA = 64 << 20;
const MAGIC = 'PAR1';

export interface ParquetFile {
  buffer: AsyncBuffer;
  metadata: FileMetaData;
  /** Geometry column. Undefined for tables with only attributes. */
  geometry?: GeometryColumn;
}

export interface GeometryColumn {
  name: string;
  /** Type of the coordinates where they are not WKB. */
  native?: string;
  /** Geometry types by their GeoParquet names. Empty if unknown. */
  types: string[];
  /** Anything PROJ reads; undefined when it is unknown. */
  crs: string | undefined;
  /** Columns that repeat the location of the geometries. */
  derived: string[];
}

export function isParquet(path: string): boolean {
  return /\.(geo)?parquet$/i.test(path);
}

/** Fails with `source-unreadable`. */
export async function withParquet<T>(path: string, use: (file: ParquetFile) => Promise<T>): Promise<T> {
  const { size } = await plainFile(path);
  const handle = await open(path);
  try {
    await checkFooter(handle, size);
    const buffer = buildBuffer(handle, size);
    const metadata = await parquetMetadataAsync(buffer, { geoparquet: false });
    const geometry = findGeometry(metadata);
    return await use({ buffer, metadata, ...(geometry ? { geometry } : {}) });
  } catch (error) {
    throw unreadable('The Parquet file is damaged, or of a kind that is not supported.', error);
  } finally {
    await handle.close();
  }
}

/** The length of the metadata and the magic bytes are the last ones of a file. */
async function checkFooter(handle: FileHandle, size: number): Promise<void> {
  const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, Math.max(0, size - 8));
  const magic = buffer.toString('latin1', 4);
  if (magic === 'PARE') throw new TaskFailure('source-unreadable', 'The Parquet file is encrypted.');
  if (magic !== MAGIC)
    throw new TaskFailure(
      'source-unreadable',
      'The file is not a Parquet file, or is truncated. Copy it again.',
    );
  if (buffer.readUInt32LE(0) > Math.min(size, MAX_METADATA))
    throw new TaskFailure(
      'source-unreadable',
      'The metadata of the Parquet file contradict the size of the file. Copy it again.',
    );
}

function buildBuffer(handle: FileHandle, byteLength: number): AsyncBuffer {
  return {
    byteLength,
    async slice(start, end = byteLength) {
      const bytes = new Uint8Array(Math.max(0, end - start));
      let at = 0;
      while (at < bytes.length) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at);
        if (bytesRead === 0) throw new RangeError('The file ends too early.');
        at += bytesRead;
      }
      return bytes.buffer;
    },
  };
}

interface GeoMetadata {
  primary_column?: string;
  columns?: Record<string, GeoColumn>;
}

interface GeoColumn {
  encoding?: string;
  geometry_types?: string[];
  crs?: unknown;
  covering?: { bbox?: Record<string, [string, string]> };
}

function findGeometry(metadata: FileMetaData): GeometryColumn | undefined {
  const text = metadata.key_value_metadata?.find(({ key }) => key === 'geo')?.value;
  const geo = text === undefined ? undefined : (JSON.parse(text) as GeoMetadata);
  const name = geo?.primary_column ?? Object.keys(geo?.columns ?? {})[0];
  const column = name === undefined ? undefined : geo?.columns?.[name];
  if (name === undefined || !column) return findOwnGeometry(metadata);
  const { encoding = 'WKB', geometry_types: types = [], covering } = column;
  const native = NATIVE[encoding];
  if (native === undefined && encoding.toUpperCase() !== 'WKB')
    throw new TaskFailure('source-unreadable', 'The encoding of the geometries is not supported. Use WKB.');
  return {
    name,
    ...(native === undefined ? {} : { native }),
    types,
    crs: column.crs === undefined ? 'OGC:CRS84' : crsOfJson(column.crs),
    derived: [...new Set(Object.values(covering?.bbox ?? {}).map(([first]) => first))],
  };
}

/** Columns of the types GEOMETRY and GEOGRAPHY. */
function findOwnGeometry({
  schema,
  key_value_metadata: pairs = [],
}: FileMetaData): GeometryColumn | undefined {
  for (const { name, logical_type: type } of schema) {
    if (type?.type !== 'GEOMETRY' && type?.type !== 'GEOGRAPHY') continue;
    const [, kind, rest = ''] = /^(srid|projjson):(.*)$/.exec(type.crs ?? '') ?? [];
    const document = pairs.find(({ key }) => key === rest)?.value;
    const crs =
      kind === 'srid'
        ? `EPSG:${rest}`
        : kind === 'projjson'
          ? crsOfJson(JSON.parse(document ?? 'null'))
          : (type.crs ?? 'OGC:CRS84');
    return { name, types: [], crs, derived: [] };
  }
  return undefined;
}

/** Returns the code if the PROJJSON has one, otherwise WKT. */
function crsOfJson(document: unknown): string | undefined {
  if (typeof document !== 'object' || document === null) return undefined;
  const { id } = document as { id?: { authority?: unknown; code?: unknown } };
  if (id?.authority !== undefined && id.code !== undefined)
    return `${String(id.authority)}:${String(id.code)}`;
  return getCrs(gdal.SpatialReference.fromUserInput(JSON.stringify(document)).toWKT()).text;
}
