/** Bytes of a value of each TIFF field type that is read: SHORT and LONG, and ASCII for the nodata value. */
const TYPE_BYTES: Readonly<Record<number, number>> = { 2: 1, 3: 2, 4: 4 };

const WIDTH = 256;
const BITS = 258;
const COMPRESSION = 259;
const STRIP_OFFSETS = 273;
const SAMPLES = 277;
const STRIP_BYTES = 279;
const PLANAR = 284;
const PREDICTOR = 317;
const TILE_WIDTH = 322;
const TILE_OFFSETS = 324;
const TILE_BYTES = 325;
const FORMAT = 339;
const NODATA = 42113;

const DEFLATE = 8;
const FLOATING_POINT = 3;

type Fields = ReadonlyMap<number, readonly number[]>;

/**
 * The values of the first pixel of a GeoTIFF as our coverages are: little endian, plain or deflated, any predictor. Null
 * for no data. Throws for other files.
 */
export async function firstPixel(file: ArrayBuffer): Promise<(number | bigint | null)[]> {
  const view = new DataView(file);
  if (view.getUint32(0, true) !== 0x002a4949) throw new Error('not a little-endian TIFF');
  const fields = readFields(view);
  const one = (tag: number, fallback: number) => fields.get(tag)?.[0] ?? fallback;
  const samples = one(SAMPLES, 1);
  const separate = one(PLANAR, 1) === 2;
  const text = Number.parseFloat(String.fromCharCode(...(fields.get(NODATA) ?? [])));
  // The text may have more digits than a 32-bit number can represent.
  const noData = one(FORMAT, 1) === 3 && one(BITS, 8) === 32 ? Math.fround(text) : text;
  const chunks = separate ? samples : 1;
  const values: (number | bigint)[] = [];
  for (let chunk = 0; chunk < chunks; chunk++) {
    const bytes = await chunkBytes(file, fields, chunk);
    const inChunk = separate ? 1 : samples;
    const bits = one(BITS, 8);
    const row = one(TILE_WIDTH, one(WIDTH, 1)) * inChunk;
    const plain = one(PREDICTOR, 1) === FLOATING_POINT ? unshuffled(bytes, row, inChunk, bits / 8) : bytes;
    for (let i = 0; i < inChunk; i++) values.push(sample(plain, i, bits, one(FORMAT, 1)));
  }
  return values.map((value) => (Number.isNaN(Number(value)) || Number(value) === noData ? null : value));
}

function readFields(view: DataView): Fields {
  const start = view.getUint32(4, true);
  const fields = new Map<number, number[]>();
  for (let i = 0; i < view.getUint16(start, true); i++) {
    const at = start + 2 + 12 * i;
    const size = TYPE_BYTES[view.getUint16(at + 2, true)];
    if (!size) continue;
    const count = view.getUint32(at + 4, true);
    const from = size * count <= 4 ? at + 8 : view.getUint32(at + 8, true);
    const read = { 1: 'getUint8', 2: 'getUint16', 4: 'getUint32' }[size] as 'getUint16';
    fields.set(
      view.getUint16(at, true),
      Array.from({ length: count }, (_, n) => view[read](from + n * size, true)),
    );
  }
  return fields;
}

async function chunkBytes(file: ArrayBuffer, fields: Fields, chunk: number): Promise<Uint8Array> {
  const offset = (fields.get(TILE_OFFSETS) ?? fields.get(STRIP_OFFSETS))?.[chunk];
  const length = (fields.get(TILE_BYTES) ?? fields.get(STRIP_BYTES))?.[chunk];
  if (offset === undefined || length === undefined) throw new Error('no pixels');
  const bytes = new Uint8Array(file, offset, length);
  const compression = fields.get(COMPRESSION)?.[0] ?? 1;
  if (compression === 1) return bytes;
  if (compression !== DEFLATE) throw new Error(`compression ${compression}`);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reverses the floating point predictor for the first samples of a row, whose bytes are grouped by significance. */
function unshuffled(bytes: Uint8Array, row: number, stride: number, size: number): Uint8Array {
  const sums = bytes.slice(0, row * size);
  for (let i = stride; i < sums.length; i++) sums[i]! += sums[i - stride]!;
  const values = new Uint8Array(stride * size);
  for (let i = 0; i < stride; i++)
    for (let byte = 0; byte < size; byte++) values[i * size + byte] = sums[(size - 1 - byte) * row + i]!;
  return values;
}

/** Sample formats: 1 unsigned, 2 signed, 3 floating point. */
function sample(bytes: Uint8Array, index: number, bits: number, format: number): number | bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset + (index * bits) / 8);
  if (format === 3) return bits === 64 ? view.getFloat64(0, true) : view.getFloat32(0, true);
  const signed = format === 2;
  if (bits === 64) return signed ? view.getBigInt64(0, true) : view.getBigUint64(0, true);
  if (bits === 8) return signed ? view.getInt8(0) : view.getUint8(0);
  if (bits === 16) return signed ? view.getInt16(0, true) : view.getUint16(0, true);
  return signed ? view.getInt32(0, true) : view.getUint32(0, true);
}
