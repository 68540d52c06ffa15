/** Reads the glb files of scene tiles, separately from the encoder that writes them. */

export type Vector = readonly [number, number, number];

export interface SceneFeature {
  /** Corners of triangles in earth-centred axes (EPSG:4978), metres. */
  triangles: [Vector, Vector, Vector][];
  normals: Vector[];
  /** Attributes by name; null for the property's `noData`. */
  properties: Record<string, unknown>;
}

interface Accessor {
  bufferView: number;
  componentType: number;
  count: number;
  type: 'SCALAR' | 'VEC3';
  normalized?: boolean;
}

interface Property {
  name: string;
  type: string;
  componentType?: string;
  enumType?: string;
  noData?: unknown;
}

interface TableProperty {
  values: number;
  stringOffsets?: number;
}

export interface GltfDocument {
  asset: { extras: Record<string, number> };
  nodes?: { translation: Vector; rotation: readonly [number, number, number, number] }[];
  meshes?: {
    primitives: {
      attributes: Record<string, number>;
      indices: number;
      extensions: { EXT_mesh_features: { featureIds: { featureCount: number }[] } };
    }[];
  }[];
  accessors: Accessor[];
  bufferViews: { byteOffset: number; byteLength: number; byteStride?: number }[];
  extensions?: {
    EXT_structural_metadata: {
      schema: {
        classes: { feature: { properties: Record<string, Property> } };
        enums?: Record<string, { values: { name: string; value: number }[] }>;
      };
      propertyTables: { count: number; properties: Record<string, TableProperty> }[];
    };
  };
}

const JSON_START = 20;

/** The JSON of a file, and its binary chunk. */
export function readGlb(file: Uint8Array): { document: GltfDocument; binary: Buffer } {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (bytes.toString('latin1', 0, 4) !== 'glTF' || bytes.readUInt32LE(8) !== bytes.length)
    throw new Error('this is not a glb file');
  const end = JSON_START + bytes.readUInt32LE(12);
  const document = JSON.parse(bytes.toString('utf8', JSON_START, end)) as GltfDocument;
  return { document, binary: bytes.subarray(end + 8) };
}

/** Features of a file in the order of their numbers. */
export function readSceneFeatures(file: Uint8Array): SceneFeature[] {
  const { document, binary } = readGlb(file);
  const primitive = document.meshes?.[0]?.primitives[0];
  if (!primitive) return [];
  const { POSITION, NORMAL, _FEATURE_ID_0 } = primitive.attributes as Record<string, number>;
  const read = (accessor: number) => readAccessor(document, binary, accessor);
  const positions = read(POSITION!);
  const normals = read(NORMAL!);
  const ids = read(_FEATURE_ID_0!);
  const indices = read(primitive.indices).map(([i]) => i!);
  const { translation, rotation } = document.nodes![0]!;
  const toEarth = (p: readonly number[]): Vector => {
    const [x, y, z] = rotate(rotation, p as Vector).map((v, i) => v + translation[i]!) as [
      number,
      number,
      number,
    ];
    // 3D Tiles turns the axis y of glTF upwards.
    return [x, -z, y];
  };
  const { featureCount } = primitive.extensions.EXT_mesh_features.featureIds[0]!;
  const table = readProperties(document, binary, featureCount);
  const features: SceneFeature[] = table.map((properties) => ({ triangles: [], normals: [], properties }));
  const earth = positions.map(toEarth);
  for (let t = 0; t < indices.length; t += 3) {
    const corners = indices.slice(t, t + 3);
    const feature = features[ids[corners[0]!]![0]!]!;
    feature.triangles.push(corners.map((i) => earth[i]!) as [Vector, Vector, Vector]);
    const [x, y, z] = rotate(rotation, normals[corners[0]!] as unknown as Vector);
    feature.normals.push([x, -z, y]);
  }
  return features;
}

const COMPONENTS: Record<number, [bytes: number, read: (b: Buffer, at: number) => number, scale: number]> = {
  5120: [1, (b, at) => b.readInt8(at), 127],
  5123: [2, (b, at) => b.readUInt16LE(at), 65535],
  5125: [4, (b, at) => b.readUInt32LE(at), 1],
  5126: [4, (b, at) => b.readFloatLE(at), 1],
};

function readAccessor(document: GltfDocument, binary: Buffer, index: number): number[][] {
  const { bufferView, componentType, count, type, normalized } = document.accessors[index]!;
  const view = document.bufferViews[bufferView]!;
  const [bytes, read, scale] = COMPONENTS[componentType]!;
  const size = type === 'VEC3' ? 3 : 1;
  const stride = view.byteStride ?? bytes * size;
  return Array.from({ length: count }, (_, i) =>
    Array.from({ length: size }, (_, k) => {
      const value = read(binary, view.byteOffset + i * stride + k * bytes);
      return normalized ? value / scale : value;
    }),
  );
}

function readProperties(document: GltfDocument, binary: Buffer, count: number): Record<string, unknown>[] {
  const rows: Record<string, unknown>[] = Array.from({ length: count }, () => ({}));
  const metadata = document.extensions?.EXT_structural_metadata;
  if (!metadata) return rows;
  const [table] = metadata.propertyTables;
  for (const [id, property] of Object.entries(metadata.schema.classes.feature.properties)) {
    const { values, stringOffsets } = table!.properties[id]!;
    const start = document.bufferViews[values]!.byteOffset;
    const offset = (i: number) =>
      start + binary.readUInt32LE(document.bufferViews[stringOffsets!]!.byteOffset + 4 * i);
    const names = metadata.schema.enums?.[property.enumType ?? '']?.values;
    const readValue = (i: number): unknown => {
      switch (property.componentType ?? property.type) {
        case 'INT32':
          return binary.readInt32LE(start + 4 * i);
        case 'INT64':
          return Number(binary.readBigInt64LE(start + 8 * i));
        case 'FLOAT64':
          return binary.readDoubleLE(start + 8 * i);
        case 'BOOLEAN':
          return (binary[start + (i >> 3)]! & (1 << (i & 7))) !== 0;
        case 'ENUM':
          return names!.find(({ value }) => value === binary[start + i])!.name;
        default:
          return binary.toString('utf8', offset(i), offset(i + 1));
      }
    };
    rows.forEach((row, i) => {
      const value = readValue(i);
      row[property.name] = value === property.noData ? null : value;
    });
  }
  return rows;
}

/** Rotates a vector by a unit quaternion x, y, z, w. */
function rotate(
  [x, y, z, w]: readonly [number, number, number, number],
  v: Vector,
): [number, number, number] {
  const cross = (a: Vector, b: Vector): [number, number, number] => [
    a[1] * b[2] - a[2] * b[1],
    a[2] * b[0] - a[0] * b[2],
    a[0] * b[1] - a[1] * b[0],
  ];
  const t = cross([x, y, z], v).map((c) => 2 * c) as unknown as Vector;
  const u = cross([x, y, z], t);
  return [v[0] + w * t[0] + u[0], v[1] + w * t[1] + u[1], v[2] + w * t[2] + u[2]];
}

/** Volume that triangles enclose; positive if they are counter-clockwise from outside. */
export function sumVolume(triangles: readonly (readonly [Vector, Vector, Vector])[]): number {
  const origin = triangles[0]?.[0] ?? [0, 0, 0];
  let sum = 0;
  for (const corners of triangles) {
    const [a, b, c] = corners.map((p) => p.map((v, i) => v - origin[i]!)) as [number[], number[], number[]];
    sum +=
      a[0]! * (b[1]! * c[2]! - b[2]! * c[1]!) -
      a[1]! * (b[0]! * c[2]! - b[2]! * c[0]!) +
      a[2]! * (b[0]! * c[1]! - b[1]! * c[0]!);
  }
  return sum / 6;
}
