/** A strict reader of vector tiles (Vector Tile Specification 2.1), of code that has nothing to do with the encoder. */

interface FieldOf {
  number: number;
  wire: number;
  /** The integer of a varint, or the bytes of anything else. */
  value: bigint;
  bytes: Uint8Array;
}

function varints(bytes: Uint8Array): bigint[] {
  const values: bigint[] = [];
  for (let at = 0; at < bytes.length; ) {
    let value = 0n;
    let shift = 0n;
    for (; ; shift += 7n) {
      if (at >= bytes.length || shift > 63n) throw new Error('a varint does not end');
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    values.push(BigInt.asUintN(64, value));
  }
  return values;
}

function* fieldsOf(bytes: Uint8Array): Generator<FieldOf> {
  for (let at = 0; at < bytes.length; ) {
    const next = () => {
      const begin = at;
      while (at < bytes.length && bytes[at]! >= 0x80) at++;
      return varints(bytes.subarray(begin, ++at))[0]!;
    };
    const key = Number(next());
    const wire = key & 7;
    const fixed = { 1: 8, 5: 4 }[wire];
    let value = 0n;
    let length = fixed ?? 0;
    if (wire === 0) value = next();
    else if (wire === 2) length = Number(next());
    else if (fixed === undefined) throw new Error(`wire type ${wire}`);
    if (at + length > bytes.length) throw new Error('a field reaches over its message');
    yield { number: key >> 3, wire, value, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}

const zigzag = (value: bigint) => Number((value >> 1n) ^ -(value & 1n));

type Position = [number, number];

/** Parts of a geometry; rings are closed by repeating their first position. */
function partsOf(type: number, integers: readonly bigint[]): Position[][] {
  const parts: Position[][] = [];
  let [x, y, at] = [0, 0, 0];
  const take = () => {
    if (at + 2 > integers.length) throw new Error('the geometry ends before its counts say');
    x += zigzag(integers[at++]!);
    y += zigzag(integers[at++]!);
    return [x, y] as Position;
  };
  while (at < integers.length) {
    const command = Number(integers[at++]);
    const [id, count] = [command & 7, command >>> 3];
    const part = parts.at(-1);
    if (id === 1) {
      if (count === 0 || (type !== 1 && count !== 1)) throw new Error(`MoveTo ${count}`);
      if (type === 1 && parts.length > 0) throw new Error('a second MoveTo in points');
      for (let i = 0; i < count; i++) parts.push([take()]);
    } else if (id === 2) {
      if (type === 1 || !part || part.length !== 1 || count < (type === 3 ? 2 : 1))
        throw new Error(`LineTo ${count}`);
      for (let i = 0; i < count; i++) part.push(take());
      for (let i = 1; i < part.length; i++)
        if (part[i]![0] === part[i - 1]![0] && part[i]![1] === part[i - 1]![1])
          throw new Error('a position twice');
    } else if (id === 7) {
      if (type !== 3 || count !== 1 || !part || part.length < 3) throw new Error('ClosePath');
      part.push(part[0]!);
    } else throw new Error(`command ${id}`);
  }
  if (parts.length === 0) throw new Error('no geometry');
  return parts;
}

/** Twice the area; positive for exterior rings. */
export function doubleArea(ring: readonly Position[]): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) sum += ring[i - 1]![0] * ring[i]![1] - ring[i]![0] * ring[i - 1]![1];
  return sum;
}

function checkRings(rings: Position[][]): void {
  for (const [i, ring] of rings.entries()) {
    const [first, last] = [ring[0]!, ring.at(-1)!];
    if (ring.length < 4 || first[0] !== last[0] || first[1] !== last[1])
      throw new Error('a ring that is not closed');
    if (ring.at(-2)![0] === first[0] && ring.at(-2)![1] === first[1]) throw new Error('a position twice');
    const area = doubleArea(ring);
    if (area === 0) throw new Error('a ring without area');
    if (i === 0 && area < 0) throw new Error('a hole comes first');
  }
}

export interface CheckedFeature {
  id: bigint | undefined;
  type: number;
  parts: Position[][];
  tags: number[];
}

export interface CheckedLayer {
  name: string;
  extent: number;
  keys: string[];
  values: number;
  features: CheckedFeature[];
}

function featureOf(bytes: Uint8Array): CheckedFeature {
  let id: bigint | undefined;
  let [type, tags] = [0, [] as number[]];
  const geometries: bigint[][] = [];
  for (const { number, wire, value, bytes: content } of fieldsOf(bytes)) {
    if ((number === 2 || number === 4) !== (wire === 2)) throw new Error(`field ${number} of a feature`);
    if (number === 1) id = value;
    else if (number === 2) tags = varints(content).map(Number);
    else if (number === 3) type = Number(value);
    else if (number === 4) geometries.push(varints(content));
    else throw new Error(`field ${number} of a feature`);
  }
  if (type < 1 || type > 3) throw new Error(`type ${type}`);
  if (geometries.length !== 1) throw new Error(`${geometries.length} geometries`);
  const parts = partsOf(type, geometries[0]!);
  if (type === 2 && parts.some((part) => part.length < 2)) throw new Error('a line of one position');
  if (type === 3) checkRings(parts);
  if (tags.length % 2) throw new Error('half a tag');
  return { id, type, parts, tags };
}

/** Wire types of the members of a Value. */
const VALUE_WIRES: Record<number, number> = { 1: 2, 2: 5, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0 };

function checkValue(bytes: Uint8Array): void {
  const fields = [...fieldsOf(bytes)];
  if (fields.length !== 1 || VALUE_WIRES[fields[0]!.number] !== fields[0]!.wire)
    throw new Error('a wrong value');
  if (fields[0]!.number === 1) new TextDecoder('utf-8', { fatal: true }).decode(fields[0]!.bytes);
}

function layerOf(bytes: Uint8Array): CheckedLayer {
  const text = (content: Uint8Array) => new TextDecoder('utf-8', { fatal: true }).decode(content);
  const layer: CheckedLayer = { name: '', extent: 0, keys: [], values: 0, features: [] };
  const values = new Set<string>();
  let version = 0n;
  const wires: Record<number, number> = { 1: 2, 2: 2, 3: 2, 4: 2, 5: 0, 15: 0 };
  for (const { number, wire, value, bytes: content } of fieldsOf(bytes)) {
    if (wires[number] !== wire) throw new Error(`field ${number} of a layer`);
    if (number === 15) version = value;
    else if (number === 1) layer.name = text(content);
    else if (number === 5) layer.extent = Number(value);
    else if (number === 2) layer.features.push(featureOf(content));
    else if (number === 3) layer.keys.push(text(content));
    else {
      checkValue(content);
      values.add(Buffer.from(content).toString('hex'));
      layer.values++;
    }
  }
  if (version !== 2n) throw new Error(`version ${version}`);
  if (!layer.name) throw new Error('no name');
  if (new Set(layer.keys).size !== layer.keys.length || values.size !== layer.values)
    throw new Error('a value twice');
  for (const { tags } of layer.features)
    for (const [i, index] of tags.entries())
      if (index >= (i % 2 ? layer.values : layer.keys.length)) throw new Error('a tag of nothing');
  return layer;
}

/** Reads a tile; throws for whatever breaks a rule that encoders have to keep. */
export function checkTile(tile: Uint8Array): CheckedLayer[] {
  const layers = [...fieldsOf(tile)].map(({ number, wire, bytes }) => {
    if (number !== 3 || wire !== 2) throw new Error(`field ${number} of a tile`);
    return layerOf(bytes);
  });
  if (new Set(layers.map(({ name }) => name)).size !== layers.length) throw new Error('a layer twice');
  return layers;
}
