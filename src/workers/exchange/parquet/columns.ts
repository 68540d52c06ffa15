/** Columns of Parquet files as columns of a GeoPackage, without loss. */

import { type FileMetaData, parquetSchema, type SchemaTree } from 'hyparquet';
import type { ParquetParsers } from 'hyparquet/src/types.js';
import { INT64_MAX } from '../../../core/values/exact-number.js';

export interface ParquetColumn {
  name: string;
  /** Name in the GeoPackage, if another column's name differs only in case. */
  title?: string;
  /** OGC 12-128r18, table 1. */
  type: string;
  /** A value for SQLite. */
  value(read: unknown): unknown;
}

/** Parsers that return dates and times as text, and binary values as bytes. */
export const PARSERS: ParquetParsers = {
  timestampFromMilliseconds: (value) => instant(BigInt(value), 1_000n),
  timestampFromMicroseconds: (value) => instant(BigInt(value), 1_000_000n),
  timestampFromNanoseconds: (value) => instant(BigInt(value), 1_000_000_000n),
  dateFromDays: (days) => new Date(days * 86_400_000).toISOString().slice(0, 10),
  stringFromBytes: (bytes) => bytes && text(bytes),
  jsonFromBytes: (bytes) => bytes && text(bytes),
  geometryFromBytes: (bytes) => bytes,
  geographyFromBytes: (bytes) => bytes,
  uuidFromBytes: (bytes) =>
    bytes &&
    Buffer.from(bytes)
      .toString('hex')
      .replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
};

const text = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');

/** Returns RFC 3339 text with milliseconds, and with further digits if there are any. */
function instant(value: bigint | undefined, perSecond: bigint): string | undefined {
  if (value === undefined || value === null) return undefined;
  const seconds = (value - (((value % perSecond) + perSecond) % perSecond)) / perSecond;
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${whole}.${fraction(value - seconds * perSecond, perSecond)}Z`;
}

function fraction(value: bigint, perSecond: bigint): string {
  const digits = String(value).padStart(String(perSecond).length - 1, '0');
  return digits.slice(0, 3) + digits.slice(3).replace(/(000)+$/, '');
}

/**
 * Returns the columns of a file except the named ones. Types whose values would be rounded are removed from the
 * metadata, so that the library returns the stored values.
 */
export function listParquetColumns(metadata: FileMetaData, without: ReadonlySet<string>): ParquetColumn[] {
  return parquetSchema(metadata)
    .children.filter(({ element }) => !without.has(element.name))
    .map((tree) => buildColumn(tree, metadata));
}

function buildColumn(tree: SchemaTree, metadata: FileMetaData): ParquetColumn {
  const { element, children } = tree;
  const { name } = element;
  if (children.length > 0 || element.repetition_type === 'REPEATED')
    return { name, type: 'JSON', value: (read) => (read === null || read === undefined ? null : json(read)) };
  const logical = element.logical_type?.type;
  const converted = element.converted_type;
  if (converted === 'DECIMAL' || logical === 'DECIMAL') return decimal(tree);
  if (logical === 'TIME' || converted === 'TIME_MILLIS' || converted === 'TIME_MICROS') return time(tree);
  if (converted === 'BSON' || converted === 'INTERVAL') {
    raw(tree);
    return { name, type: 'BLOB', value: plain };
  }
  if (converted === 'DATE' || logical === 'DATE') return { name, type: 'DATE', value: plain };
  if (converted?.startsWith('TIMESTAMP') || logical === 'TIMESTAMP' || element.type === 'INT96')
    return { name, type: 'DATETIME', value: plain };
  if (converted === 'JSON' || logical === 'JSON') return { name, type: 'JSON', value: plain };
  if (
    converted === 'UTF8' ||
    converted === 'ENUM' ||
    logical === 'STRING' ||
    logical === 'ENUM' ||
    logical === 'UUID'
  )
    return { name, type: 'TEXT', value: (read) => (read instanceof Uint8Array ? text(read) : plain(read)) };
  switch (element.type) {
    case 'BOOLEAN':
      return {
        name,
        type: 'BOOLEAN',
        value: (read) => (read === null || read === undefined ? null : Number(read)),
      };
    case 'INT32':
      return { name, type: 'INTEGER', value: integer };
    case 'INT64':
      return fitsInteger(tree, metadata)
        ? { name, type: 'INTEGER', value: integer }
        : {
            name,
            type: 'TEXT',
            value: (read) => (read === null || read === undefined ? null : String(read)),
          };
    case 'FLOAT':
    case 'DOUBLE':
      return { name, type: 'REAL', value: plain };
    default:
      return { name, type: logical === 'FLOAT16' ? 'REAL' : 'BLOB', value: plain };
  }
}

function plain(read: unknown): unknown {
  if (read === null || read === undefined) return null;
  return read instanceof Uint8Array ? Buffer.from(read) : read;
}

/** Returns a bigint, because SQLite would store a JavaScript number as REAL. */
function integer(read: unknown): unknown {
  return read === null || read === undefined ? null : BigInt(read as number | bigint);
}

function raw({ element }: SchemaTree): void {
  delete element.converted_type;
  delete element.logical_type;
}

/** Digits of which a double keeps each, and a 64-bit integer does. */
const DOUBLE_DIGITS = 15;
const INTEGER_DIGITS = 18;

function decimal(tree: SchemaTree): ParquetColumn {
  const { element } = tree;
  const { name, scale = 0, precision = INTEGER_DIGITS + 1 } = element;
  raw(tree);
  const digits = (read: unknown) => {
    const whole = read instanceof Uint8Array ? signed(read) : BigInt(read as number | bigint);
    const padded = String(whole < 0n ? -whole : whole).padStart(scale + 1, '0');
    const at = padded.length - scale;
    return `${whole < 0n ? '-' : ''}${padded.slice(0, at)}${scale > 0 ? `.${padded.slice(at)}` : ''}`;
  };
  const or = (make: (read: unknown) => unknown) => (read: unknown) =>
    read === null || read === undefined ? null : make(read);
  if (scale <= 0 && precision <= INTEGER_DIGITS)
    return { name, type: 'INTEGER', value: or((read) => BigInt(digits(read))) };
  if (precision <= DOUBLE_DIGITS) return { name, type: 'REAL', value: or((read) => Number(digits(read))) };
  return { name, type: 'TEXT', value: or(digits) };
}

/** A number in two's complement, the highest byte first. */
function signed(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

const UNITS: Readonly<Record<string, bigint>> = { MILLIS: 1_000n, MICROS: 1_000_000n, NANOS: 1_000_000_000n };

function time(tree: SchemaTree): ParquetColumn {
  const { element } = tree;
  const unit =
    element.logical_type?.type === 'TIME' ? element.logical_type.unit : element.converted_type!.slice(5);
  const perSecond = UNITS[unit]!;
  raw(tree);
  return {
    name: element.name,
    type: 'TEXT',
    value: (read) =>
      read === null || read === undefined ? null : instant(BigInt(read as number), perSecond)!.slice(11, -1),
  };
}

/** Unsigned integers of 64 bits that SQLite's may be too small for are texts. */
function fitsInteger({ element }: SchemaTree, { row_groups }: FileMetaData): boolean {
  const { logical_type: logical, converted_type: converted, name } = element;
  const unsigned =
    converted === 'UINT_64' || (logical?.type === 'INTEGER' && !logical.isSigned && logical.bitWidth === 64);
  if (!unsigned) return true;
  return row_groups.every(({ columns }) => {
    const statistics = columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === name)?.meta_data
      ?.statistics;
    const most = statistics?.max_value ?? statistics?.max;
    return typeof most === 'bigint' && most >= 0n && most <= INT64_MAX;
  });
}

/** JSON of nested values; integers of 64 bits keep their digits. */
function json(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('base64'));
  if (ArrayBuffer.isView(value)) return json(Array.from(value as unknown as ArrayLike<unknown>));
  if (Array.isArray(value)) return `[${value.map(json).join(',')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${json(member)}`)
    .join(',')}}`;
}
