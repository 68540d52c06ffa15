/** Geometries of Parquet files as blobs of a GeoPackage (OGC 12-128r18, 2.1.3). */

/** Geometry types by their code in WKB. */
const CODES: Readonly<Record<string, number>> = {
  Point: 1,
  LineString: 2,
  Polygon: 3,
  MultiPoint: 4,
  MultiLineString: 5,
  MultiPolygon: 6,
  GeometryCollection: 7,
};
const NAMES = new Map(Object.entries(CODES).map(([name, code]) => [code, name]));

/** Encodings of GeoParquet 1.1 in addition to WKB. Each encodes the coordinates of one type. */
export const NATIVE: Readonly<Record<string, string>> = {
  point: 'Point',
  linestring: 'LineString',
  polygon: 'Polygon',
  multipoint: 'MultiPoint',
  multilinestring: 'MultiLineString',
  multipolygon: 'MultiPolygon',
};

/** Names a type as GeoParquet does: `Point`, `Point Z`. */
export function readWkbTypeName(wkb: Buffer): string {
  const code = readCode(wkb);
  return `${NAMES.get(code % 1000) ?? 'Geometry'}${['', ' Z', ' M', ' ZM'][Math.floor(code / 1000)] ?? ''}`;
}

/** ISO code of the type; PostGIS's bits for Z and M become thousands. */
function readCode(wkb: Buffer): number {
  if (wkb.length < 9) throw new RangeError('A geometry is truncated.');
  const code = wkb[0] === 1 ? wkb.readUInt32LE(1) : wkb.readUInt32BE(1);
  return (code & 0xffff) + (code & 0x80000000 ? 1000 : 0) + (code & 0x40000000 ? 2000 : 0);
}

/** The blob of a geometry; one part becomes a multi geometry where the column has those. */
export function writeGeoPackageBlob(
  wkb: Buffer,
  { srsId, multi }: { srsId: number; multi: boolean },
): Buffer {
  const header = Buffer.alloc(8);
  header.write('GP', 'latin1');
  header[3] = isEmpty(wkb) ? 0x11 : 0x01;
  header.writeInt32LE(srsId, 4);
  return Buffer.concat([header, multi ? promoted(wkb) : wkb]);
}

function isEmpty(wkb: Buffer): boolean {
  const little = wkb[0] === 1;
  if (readCode(wkb) % 1000 !== 1) return (little ? wkb.readUInt32LE(5) : wkb.readUInt32BE(5)) === 0;
  return Number.isNaN(little ? wkb.readDoubleLE(5) : wkb.readDoubleBE(5));
}

function promoted(wkb: Buffer): Buffer {
  const code = readCode(wkb);
  if (code % 1000 > 3) return wkb;
  return Buffer.concat([head(code + 3, isEmpty(wkb) ? 0 : 1), ...(isEmpty(wkb) ? [] : [wkb])]);
}

function head(code: number, count: number): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = 1;
  bytes.writeUInt32LE(code, 1);
  bytes.writeUInt32LE(count, 5);
  return bytes;
}

type Vertex = Record<'x' | 'y' | 'z' | 'm', number | undefined>;
type NestedVertices = Vertex | NestedVertices[];

/** WKB of coordinates of a native encoding. */
export function writeNestedWkb(type: string, coordinates: NestedVertices): Buffer {
  const vertex = firstVertex(coordinates);
  const axes = (['x', 'y', 'z', 'm'] as const).filter((axis) => vertex?.[axis] !== undefined);
  const thousands = (axes.includes('z') ? 1000 : 0) + (axes.includes('m') ? 2000 : 0);
  const write = (name: string, value: NestedVertices): Buffer => {
    const code = CODES[name]! + thousands;
    if (name === 'Point') return Buffer.concat([head(code, 0).subarray(0, 5), point(value as Vertex)]);
    const parts = value as NestedVertices[];
    if (name.startsWith('Multi'))
      return Buffer.concat([head(code, parts.length), ...parts.map((part) => write(name.slice(5), part))]);
    const bodies = name === 'Polygon' ? parts.map((ring) => line(ring as Vertex[])) : [];
    if (name === 'Polygon') return Buffer.concat([head(code, parts.length), ...bodies]);
    return Buffer.concat([head(code, parts.length).subarray(0, 5), line(parts as Vertex[])]);
  };
  const point = (at: Vertex) => {
    const bytes = Buffer.alloc(8 * axes.length);
    for (const [i, axis] of axes.entries()) bytes.writeDoubleLE(at[axis] ?? Number.NaN, 8 * i);
    return bytes;
  };
  const line = (vertices: Vertex[]) =>
    Buffer.concat([head(0, vertices.length).subarray(5), ...vertices.map(point)]);
  return write(type, coordinates);
}

function firstVertex(coordinates: NestedVertices): Vertex | undefined {
  if (!Array.isArray(coordinates)) return coordinates;
  for (const part of coordinates) {
    const vertex = firstVertex(part);
    if (vertex) return vertex;
  }
  return undefined;
}
