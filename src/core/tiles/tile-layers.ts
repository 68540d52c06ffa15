import { PbfReader, PbfWriter } from 'pbf';
import { DIGITS } from '../styles/integer-texts.js';

/** Vector tiles, decoded as far as styles need them: attributes are decoded, geometries stay encoded (MVT 2.1). */

export type AttributeValue = string | number | boolean;

/** A feature's `type`: point, line or polygon. */
export type FeatureType = 1 | 2 | 3;

export interface TileFeature {
  id: number | undefined;
  type: FeatureType;
  /** Packed pairs of indices into keys and values, still encoded. */
  tags: Uint8Array;
  /** Packed commands, still encoded. */
  geometry: Uint8Array;
}

export interface MvtLayer {
  readonly name: string;
  readonly extent: number;
  readonly keys: readonly string[];
  readonly values: readonly AttributeValue[];
  /** Digits of the integers among the values that doubles round, by their place. */
  readonly digits: ReadonlyMap<number, string>;
  readonly features: readonly TileFeature[];
}

const NOTHING = new Uint8Array();

export function readTileLayers(tile: Uint8Array): MvtLayer[] {
  const layers: MvtLayer[] = [];
  new PbfReader(tile).readFields((field, all, pbf) => {
    if (field === 3) all.push(new EncodedLayer(pbf.readBytes()));
  }, layers);
  return layers;
}

type Content = Pick<MvtLayer, 'keys' | 'values' | 'digits' | 'features'>;

/** A layer that decodes its features on demand: most styles draw them unchanged. */
class EncodedLayer implements MvtLayer {
  readonly name: string;
  readonly extent: number;
  readonly #bytes: Uint8Array;
  #content: Content | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    const { name, extent } = new PbfReader(bytes).readFields(
      (field, into, pbf) => {
        if (field === 1) into.name = pbf.readString();
        else if (field === 5) into.extent = pbf.readVarint();
      },
      { name: '', extent: 4096 },
    );
    this.name = name;
    this.extent = extent;
  }

  get keys(): readonly string[] {
    return this.#decoded.keys;
  }

  get values(): readonly AttributeValue[] {
    return this.#decoded.values;
  }

  get digits(): ReadonlyMap<number, string> {
    return this.#decoded.digits;
  }

  get features(): readonly TileFeature[] {
    return this.#decoded.features;
  }

  get #decoded(): Content {
    this.#content ??= readContent(this.#bytes);
    return this.#content;
  }
}

function readContent(bytes: Uint8Array): Content {
  const digits = new Map<number, string>();
  const content = {
    keys: [] as string[],
    values: [] as AttributeValue[],
    digits,
    features: [] as TileFeature[],
  };
  return new PbfReader(bytes).readFields((field, into, pbf) => {
    if (field === 2) into.features.push(readFeature(pbf));
    else if (field === 3) into.keys.push(pbf.readString());
    else if (field === 4) {
      const { value, exact } = readValue(pbf);
      if (exact !== undefined) digits.set(into.values.length, exact);
      into.values.push(value);
    }
  }, content);
}

function readFeature(pbf: PbfReader): TileFeature {
  const feature: TileFeature = { id: undefined, type: 1, tags: NOTHING, geometry: NOTHING };
  return pbf.readMessage((field, into, message) => {
    if (field === 1) into.id = message.readVarint();
    else if (field === 2) into.tags = message.readBytes();
    else if (field === 3) into.type = message.readVarint() as FeatureType;
    else if (field === 4) into.geometry = message.readBytes();
  }, feature);
}

interface ReadValue {
  value: AttributeValue;
  /** The digits of an integer that a double rounds. */
  exact?: string;
}

function readValue(pbf: PbfReader): ReadValue {
  const holder: ReadValue = { value: '' };
  pbf.readMessage((field, into, message) => {
    if (field === 1) into.value = message.readString();
    else if (field === 2) into.value = message.readFloat();
    else if (field === 3) into.value = message.readDouble();
    else if (field === 7) into.value = message.readBoolean();
    else if (field >= 4 && field <= 6) {
      const at = message.pos;
      into.value =
        field === 4 ? message.readVarint(true) : field === 5 ? message.readVarint() : message.readSVarint();
      if (!Number.isSafeInteger(into.value))
        into.exact = digitsIn(message.buf.subarray(at, message.pos), field);
    }
  }, holder);
  return holder;
}

/** The integer of the bytes of a varint: 4 is signed, 5 is not, 6 is in zigzag form. */
function digitsIn(varint: Uint8Array, field: number): string {
  const bits = varint.reduce((all, byte, i) => all | (BigInt(byte & 127) << BigInt(7 * i)), 0n);
  if (field === 6) return String((bits >> 1n) ^ -(bits & 1n));
  return String(field === 4 ? BigInt.asIntN(64, bits) : BigInt.asUintN(64, bits));
}

/** The attributes that a feature's tags say. */
export function decodeAttributes(layer: MvtLayer, tags: Uint8Array): Record<string, AttributeValue> {
  const attributes: Record<string, AttributeValue> = {};
  const indices = packed(tags);
  for (let i = 0; i + 1 < indices.length; i += 2) {
    const [name, place] = [layer.keys[indices[i]!]!, indices[i + 1]!];
    attributes[name] = layer.values[place]!;
    const digits = layer.digits.get(place);
    if (digits !== undefined) attributes[`${name}${DIGITS}`] = digits;
  }
  return attributes;
}

function packed(bytes: Uint8Array): number[] {
  const pbf = new PbfReader(bytes);
  const numbers: number[] = [];
  while (pbf.pos < pbf.length) numbers.push(pbf.readVarint());
  return numbers;
}

/** Writes one layer of features whose attributes have the same names and are given in their order. */
export class TileLayerWriter {
  readonly #layer: PbfWriter = new PbfWriter();
  readonly #indices = new Map<AttributeValue, number>();
  readonly #values: AttributeValue[] = [];
  readonly #keys: readonly string[];

  constructor(name: string, extent: number, keys: readonly string[]) {
    this.#keys = keys;
    this.#layer.writeVarintField(15, 2);
    this.#layer.writeStringField(1, name);
    this.#layer.writeVarintField(5, extent);
  }

  /** Tags for attributes in the order of the keys; undefined leaves one out. */
  tags(attributes: readonly (AttributeValue | undefined)[]): number[] {
    const tags: number[] = [];
    attributes.forEach((value, key) => {
      if (value !== undefined) tags.push(key, this.#index(value));
    });
    return tags;
  }

  #index(value: AttributeValue): number {
    let index = this.#indices.get(value);
    if (index === undefined) {
      index = this.#values.push(value) - 1;
      this.#indices.set(value, index);
    }
    return index;
  }

  add(type: FeatureType, geometry: Uint8Array, tags: readonly number[]): void {
    this.#layer.writeMessage(2, writeFeature, { type, geometry, tags });
  }

  /** Adds one point, one line, or one ring without its closing position. */
  addPositions(type: FeatureType, positions: readonly [number, number][], tags: readonly number[]): void {
    const pbf = new PbfWriter();
    let [x, y] = [0, 0];
    for (const [i, [px, py]] of positions.entries()) {
      // MoveTo once, then LineTo as often as there are positions left.
      if (i === 0) pbf.writeVarint((1 << 3) | 1);
      if (i === 1) pbf.writeVarint(((positions.length - 1) << 3) | 2);
      pbf.writeSVarint(px - x);
      pbf.writeSVarint(py - y);
      [x, y] = [px, py];
    }
    if (type === 3) pbf.writeVarint((1 << 3) | 7);
    this.add(type, pbf.finish(), tags);
  }

  /** A tile with only this layer. A tile with several layers is a concatenation of such tiles. */
  finish(): Uint8Array {
    for (const key of this.#keys) this.#layer.writeStringField(3, key);
    for (const value of this.#values) this.#layer.writeMessage(4, writeValue, value);
    const bytes = this.#layer.finish();
    const tile = new PbfWriter();
    tile.writeBytesField(3, bytes);
    return tile.finish();
  }
}

function writeFeature(
  { type, geometry, tags }: { type: FeatureType; geometry: Uint8Array; tags: readonly number[] },
  pbf: PbfWriter,
): void {
  pbf.writePackedVarint(2, tags as number[]);
  pbf.writeVarintField(3, type);
  pbf.writeBytesField(4, geometry);
}

function writeValue(value: AttributeValue, pbf: PbfWriter): void {
  if (typeof value === 'string') pbf.writeStringField(1, value);
  else if (typeof value === 'boolean') pbf.writeBooleanField(7, value);
  else pbf.writeDoubleField(3, value);
}

/** Every position of a geometry, in grid units. */
export function decodePositions(geometry: Uint8Array): [number, number][] {
  let [x, y] = [0, 0];
  return readMoves(geometry).map(([dx, dy]) => {
    x += (dx >> 1) ^ -(dx & 1);
    y += (dy >> 1) ^ -(dy & 1);
    return [x, y];
  });
}

/** Converts every vertex of a line or polygon into a point, as circle layers draw them. */
export function convertToPoints(geometry: Uint8Array): Uint8Array {
  const moves = readMoves(geometry);
  const writer = new PbfWriter();
  writer.writeVarint((moves.length << 3) | 1);
  for (const [dx, dy] of moves) {
    writer.writeVarint(dx);
    writer.writeVarint(dy);
  }
  return writer.finish();
}

/** From position to position, zigzag encoded. */
function readMoves(geometry: Uint8Array): [number, number][] {
  const pbf = new PbfReader(geometry);
  const moves: [number, number][] = [];
  while (pbf.pos < pbf.length) {
    const command = pbf.readVarint();
    // ClosePath has no position.
    if ((command & 7) === 7) continue;
    for (let count = command >> 3; count > 0 && pbf.pos < pbf.length; count--)
      moves.push([pbf.readVarint(), pbf.readVarint()]);
  }
  return moves;
}
