/** The header of FlatGeobuf (https://github.com/flatgeobuf/flatgeobuf/blob/master/src/fbs/header.fbs), a table of FlatBuffers. */

import { open } from 'node:fs/promises';
import { TaskFailure } from '../../../../core/errors/failure.js';

/** Bytes before the size of the header. */
const MAGIC_BYTES = 8;
/** GDAL reads no longer header. */
const MAX_HEADER_BYTES = 10 << 20;
/** Numbers of fields: of the CRS in the header, and of texts in the CRS. */
const CRS = 10;
const [ORGANISATION, CODE, WKT, CODE_TEXT] = [0, 1, 4, 5];

/** Returns the CRS definitions of a header. Fails with `source-unreadable`. */
export async function readHeaderCrs(path: string): Promise<string[]> {
  const bytes = await readHeader(path);
  try {
    const header = bytes.readUInt32LE(0);
    const crs = follow(bytes, header, CRS);
    if (crs === undefined) return [];
    const text = (field: number) => textAt(bytes, follow(bytes, crs, field));
    const organisation = text(ORGANISATION);
    const code = fieldAt(bytes, crs, CODE);
    const number = code === undefined ? '' : String(bytes.readInt32LE(code));
    const names = [number, text(CODE_TEXT)].map((one) => `${organisation}:${one}`);
    return [text(WKT), text(CODE_TEXT), ...(organisation === '' ? [] : names)];
  } catch (error) {
    if (error instanceof RangeError) throw damaged();
    throw error;
  }
}

async function readHeader(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const size = Buffer.alloc(4);
    await file.read(size, 0, 4, MAGIC_BYTES);
    const length = size.readUInt32LE(0);
    if (length > MAX_HEADER_BYTES) throw damaged();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, MAGIC_BYTES + 4);
    if (bytesRead < length) throw damaged();
    return buffer;
  } finally {
    await file.close();
  }
}

const damaged = () =>
  new TaskFailure(
    'source-unreadable',
    'The header of the FlatGeobuf file is damaged or truncated. Copy it again.',
  );

/** Returns the offset of a table's field. Undefined if the table does not have it. */
function fieldAt(bytes: Buffer, table: number, field: number): number | undefined {
  const fields = table - bytes.readInt32LE(table);
  const at = 4 + 2 * field;
  const offset = at < bytes.readUInt16LE(fields) ? bytes.readUInt16LE(fields + at) : 0;
  return offset === 0 ? undefined : table + offset;
}

/** Returns the start of the value to which a field refers. */
function follow(bytes: Buffer, table: number, field: number): number | undefined {
  const at = fieldAt(bytes, table, field);
  return at === undefined ? undefined : at + bytes.readUInt32LE(at);
}

function textAt(bytes: Buffer, at: number | undefined): string {
  if (at === undefined) return '';
  const end = at + 4 + bytes.readUInt32LE(at);
  if (end > bytes.length) throw damaged();
  return bytes.toString('latin1', at + 4, end);
}
