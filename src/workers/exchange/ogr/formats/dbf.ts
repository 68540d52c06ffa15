/** Tables of shapefiles whose values GDAL changes: it rounds long integers, reads text as 0, and takes any digits for a date. */

import { copyFile, open, symlink } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { readDate } from '../../../../core/cql2/temporal.js';
import {
  noteDecimalIntegers,
  noteImpossibleDates,
  noteMisfitText,
} from '../../../../core/features/value-notes.js';
import { findSidecar } from '../../../gdal/sidecars.js';
import { PropertyFacts } from '../../geojson/values.js';

/** A field of a dBASE table. */
interface DbfField {
  type: string;
  /** Its place in the header, and in records. */
  head: number;
  offset: number;
  length: number;
  decimals: number;
}

const [HEADER, FIELD, END] = [32, 32, 0x0d];
const [TYPE_AT, LENGTH_AT, DECIMALS_AT] = [11, 16, 17];
/** Bytes of records in one read. */
const BLOCK_BYTES = 1 << 20;

interface Layout {
  fields: DbfField[];
  headSize: number;
  recordSize: number;
  records: number;
}

/** Type that replaces the type of a field. */
type DbfType = 'string' | 'integer64' | 'real';

/** Forms in which fields must be read to keep their values. */
export interface DbfForms {
  /** By the index of the field. */
  readonly types: ReadonlyMap<number, DbfType>;
  /** Indexes of fields with dates that no calendar has. */
  readonly dates: ReadonlySet<number>;
  readonly notes: readonly string[];
}

/**
 * Checks all numbers and dates of a table, whose fields are called `names` by a reader. Undefined if GDAL reads them
 * without changes.
 */
export async function readDbfForms(table: string, names: readonly string[]): Promise<DbfForms | undefined> {
  const layout = await readLayout(table);
  const numbers = layout.fields.flatMap((field, index) =>
    'NF'.includes(field.type) ? [{ field, index }] : [],
  );
  const days = layout.fields.flatMap((field, index) => (field.type === 'D' ? [{ field, index }] : []));
  if (layout.fields.length !== names.length || numbers.length + days.length === 0) return undefined;
  const facts = new PropertyFacts();
  const dates = new Set<number>();
  const texts = new Set<number>();
  await eachRecord(table, layout, (record) => {
    for (const { field, index } of numbers) {
      const text = readText(record, field);
      if (text !== '' && !addNumber(facts, names[index]!, text)) texts.add(index);
    }
    for (const { field, index } of days) if (hasNoDay(readText(record, field))) dates.add(index);
  });
  const forms = facts.forms();
  const types = new Map<number, DbfType>();
  for (const { field, index } of numbers) {
    const name = names[index]!;
    const isWhole = field.decimals === 0;
    if (texts.has(index) || forms.get(name) === 'text') types.set(index, 'string');
    else if (isWhole && field.type === 'N' && facts.hasDecimals(name)) types.set(index, 'real');
    else if (facts.hasLargeIntegers(name) && !(isWhole && field.length < WIDE)) types.set(index, 'integer64');
  }
  const named = (indexes: Iterable<number>) => [...indexes].map((index) => names[index]!);
  const decimals = [...types].filter(([, type]) => type === 'real').map(([index]) => index);
  const notes = [
    ...facts.notes(forms),
    ...noteMisfitText(named(texts)),
    ...noteDecimalIntegers(named(decimals)),
    ...noteImpossibleDates(named(dates)),
  ];
  return types.size > 0 || notes.length > 0 ? { types, dates, notes } : undefined;
}

/** Digits from which on GDAL reads integers as doubles. */
const WIDE = 19;

/** Links a shapefile into a folder, with a table whose fields have the types of their values and no impossible dates. */
export async function copyWithForms(
  path: string,
  table: string,
  { types, dates }: DbfForms,
  folder: string,
): Promise<string> {
  const source = resolve(path);
  const stem = basename(source, extname(source));
  for (const extension of ['.shx', '.prj', '.cpg']) {
    const sidecar = await findSidecar(path, extension);
    if (sidecar !== undefined) await symlink(resolve(sidecar), join(folder, `${stem}${extension}`));
  }
  const shape = join(folder, `${stem}.shp`);
  await symlink(join(dirname(source), basename(source)), shape);
  const copy = join(folder, `${stem}.dbf`);
  await copyFile(table, copy);
  const layout = await readLayout(copy);
  const file = await open(copy, 'r+');
  try {
    for (const index of types.keys()) {
      const { head } = layout.fields[index]!;
      await file.write(Buffer.from('C'), 0, 1, head + TYPE_AT);
      // For text, this byte would be a part of the length.
      await file.write(Buffer.from([0]), 0, 1, head + DECIMALS_AT);
    }
    if (dates.size === 0) return shape;
    await eachRecord(copy, layout, async (record, at) => {
      for (const index of dates) {
        const field = layout.fields[index]!;
        if (hasNoDay(readText(record, field)))
          await file.write(Buffer.alloc(field.length, ' '), 0, field.length, at + field.offset);
      }
    });
    return shape;
  } finally {
    await file.close();
  }
}

async function readLayout(path: string): Promise<Layout> {
  const file = await open(path);
  try {
    const head = (await file.read(Buffer.alloc(HEADER), 0, HEADER, 0)).buffer;
    const [headSize, recordSize] = [head.readUInt16LE(8), head.readUInt16LE(10)];
    const { buffer } = await file.read(Buffer.alloc(headSize), 0, headSize, 0);
    const fields: DbfField[] = [];
    let offset = 1;
    for (let at = HEADER; at + FIELD <= buffer.length && buffer[at] !== END; at += FIELD) {
      const type = String.fromCharCode(buffer[at + TYPE_AT]!);
      const [length, decimals] = [buffer[at + LENGTH_AT]!, buffer[at + DECIMALS_AT]!];
      // Text may be longer than 255 bytes, which the byte of decimals counts.
      const size = type === 'C' ? length + 256 * decimals : length;
      fields.push({ type, head: at, offset, length: size, decimals: type === 'C' ? 0 : decimals });
      offset += size;
    }
    return { fields, headSize, recordSize, records: head.readUInt32LE(4) };
  } finally {
    await file.close();
  }
}

/** Visits each record with its position in the file, including deleted records. */
async function eachRecord(
  path: string,
  { headSize, recordSize, records }: Layout,
  visit: (record: Buffer, at: number) => Promise<void> | void,
): Promise<void> {
  if (recordSize === 0) return;
  const file = await open(path);
  try {
    const perBlock = Math.max(1, Math.floor(BLOCK_BYTES / recordSize));
    for (let first = 0; first < records; first += perBlock) {
      const at = headSize + first * recordSize;
      const size = Math.min(perBlock, records - first) * recordSize;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, at);
      for (let start = 0; start + recordSize <= bytesRead; start += recordSize) {
        const done = visit(buffer.subarray(start, start + recordSize), at + start);
        if (done) await done;
      }
      if (bytesRead < size) return;
    }
  } finally {
    await file.close();
  }
}

/** The text of a field, without blanks; empty where it has no value, as GDAL has it. */
function readText(record: Buffer, { type, offset, length }: DbfField): string {
  const text = record
    .toString('latin1', offset, offset + length)
    .replace(/\0.*/s, '')
    .trim();
  if (type === 'D') return /^0*$/.test(text) ? '' : text;
  return NO_NUMBER.test(text) ? '' : text;
}

/** Values that programs write for missing numbers. */
const NO_NUMBER = /^\*|^[+-]?(?:nan|inf(?:inity)?|\d\.#[a-z]+)$/i;

/** Whether text is not a calendar date. GDAL also reads dates with slashes. */
function hasNoDay(text: string): boolean {
  return text !== '' && !/^\d\d\/\d\d\/\d\d$/.test(text) && !isDate(text);
}

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})(\d\d)(\d\d)$/.exec(text) ?? [];
  return year !== undefined && readDate(`${year}-${month}-${day}`) !== undefined;
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** False for text that is not a number. */
function addNumber(facts: PropertyFacts, name: string, value: string): boolean {
  if (!NUMBER.test(value)) return false;
  facts.addNumber(name, plainNumber(value));
  return true;
}

/** A number as JSON has it: without a plus sign, leading zeros and zeros after the last decimal. */
function plainNumber(value: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = ''] =
    /^[+]?(-?)0*(\d*)\.?(\d*?)0*([eE].*)?$/.exec(value) ?? [];
  return `${sign}${whole || '0'}${fraction && `.${fraction}`}${exponent}`;
}
