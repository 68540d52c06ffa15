import { fileURLToPath } from 'node:url';
import { VectorTile, type VectorTileLayer } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { sqliteExtensionPath } from '../../src/native/index.js';
import Database from '../../src/native/sqlite.js';

export const WORLD_MAP = fileURLToPath(new URL('../../demo/data/world_map.gpkg', import.meta.url));

/** Half the side of the Web Mercator square, metres. */
export const HALF_WORLD = 20037508.342789244;

export type Position = readonly number[];

/** xorshift32, 0..1: the same numbers in every run. */
export function randomSource(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

export type Shape =
  | { type: 'Point'; coordinates: Position }
  | { type: 'LineString' | 'MultiPoint'; coordinates: Position[] }
  | { type: 'Polygon' | 'MultiLineString'; coordinates: Position[][] }
  | { type: 'MultiPolygon'; coordinates: Position[][][] }
  | { type: 'GeometryCollection'; geometries: Shape[] };

export interface WkbOptions {
  bigEndian?: boolean;
  /** Which ordinates a position has; decides the type codes. */
  dimension?: 'XY' | 'XYZ' | 'XYM' | 'XYZM';
  /** EWKB flags instead of ISO type offsets. */
  ewkb?: boolean;
  srid?: number;
}

const TYPE_CODES = {
  Point: 1,
  LineString: 2,
  Polygon: 3,
  MultiPoint: 4,
  MultiLineString: 5,
  MultiPolygon: 6,
  GeometryCollection: 7,
} as const;

const ISO_OFFSET = { XY: 0, XYZ: 1000, XYM: 2000, XYZM: 3000 } as const;
const EWKB_FLAGS = { XY: 0, XYZ: 0x80000000, XYM: 0x40000000, XYZM: 0xc0000000 } as const;

/** Writes WKB; every position must have as many ordinates as the dimension says. */
export function wkb(shape: Shape, options: WkbOptions = {}): Buffer {
  const parts: Buffer[] = [];
  const dimension = options.dimension ?? 'XY';
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    if (options.bigEndian) bytes.writeUInt32BE(value >>> 0);
    else bytes.writeUInt32LE(value >>> 0);
    parts.push(bytes);
  };
  const position = (ordinates: Position) => {
    const bytes = Buffer.alloc(8 * ordinates.length);
    ordinates.forEach((v, i) => {
      if (options.bigEndian) bytes.writeDoubleBE(v, 8 * i);
      else bytes.writeDoubleLE(v, 8 * i);
    });
    parts.push(bytes);
  };
  const line = (positions: readonly Position[]) => {
    u32(positions.length);
    positions.forEach(position);
  };
  const write = (s: Shape, top: boolean) => {
    parts.push(Buffer.from([options.bigEndian ? 0 : 1]));
    const code = TYPE_CODES[s.type];
    if (options.ewkb) {
      const hasSrid = top && options.srid !== undefined;
      u32((code | EWKB_FLAGS[dimension] | (hasSrid ? 0x20000000 : 0)) >>> 0);
      if (hasSrid) u32(options.srid as number);
    } else {
      u32(code + ISO_OFFSET[dimension]);
    }
    const members = (list: Shape[]) => {
      u32(list.length);
      for (const member of list) write(member, false);
    };
    switch (s.type) {
      case 'Point':
        return position(s.coordinates);
      case 'LineString':
        return line(s.coordinates);
      case 'Polygon':
        u32(s.coordinates.length);
        return s.coordinates.forEach(line);
      case 'MultiPoint':
        return members(s.coordinates.map((coordinates) => ({ type: 'Point', coordinates })));
      case 'MultiLineString':
        return members(s.coordinates.map((coordinates) => ({ type: 'LineString', coordinates })));
      case 'MultiPolygon':
        return members(s.coordinates.map((coordinates) => ({ type: 'Polygon', coordinates })));
      case 'GeometryCollection':
        return members(s.geometries);
    }
  };
  write(shape, true);
  return Buffer.concat(parts);
}

export interface HeaderOptions {
  /** Envelope contents indicator, 0 to 4. */
  envelope?: 0 | 1 | 2 | 3 | 4;
  /** minx, maxx, miny, maxy, then z and m bounds as the kind says. */
  bounds?: readonly number[];
  bigEndian?: boolean;
  empty?: boolean;
  srsId?: number;
}

/** Puts a GeoPackage header before WKB. */
export function geoPackageBlob(body: Buffer, options: HeaderOptions = {}): Buffer {
  const kind = options.envelope ?? 0;
  const doubles = [0, 4, 6, 6, 8][kind] as number;
  const head = Buffer.alloc(8 + 8 * doubles);
  head.write('GP');
  head[3] = (options.bigEndian ? 0 : 1) | (kind << 1) | (options.empty ? 0x10 : 0);
  const srs = options.srsId ?? 4326;
  if (options.bigEndian) head.writeInt32BE(srs, 4);
  else head.writeInt32LE(srs, 4);
  for (let i = 0; i < doubles; i++) {
    const v = options.bounds?.[i] ?? 0;
    if (options.bigEndian) head.writeDoubleBE(v, 8 + 8 * i);
    else head.writeDoubleLE(v, 8 + 8 * i);
  }
  return Buffer.concat([head, body]);
}

/** A database with the extension loaded; in memory unless a path is given, which is opened read-only. */
export function openDatabase(path?: string): Database.Database {
  const db = path === undefined ? new Database(':memory:') : new Database(path, { readonly: true });
  db.loadExtension(sqliteExtensionPath());
  return db;
}

export function decode(tile: Uint8Array): Record<string, VectorTileLayer> {
  return new VectorTile(new PbfReader(tile)).layers;
}

export interface GridPoint {
  x: number;
  y: number;
}

/** Area by the surveyor's formula in tile coordinates; positive for exterior rings. The ring is closed. */
export function ringArea(ring: readonly GridPoint[]): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++) {
    const a = ring[i - 1]!;
    const b = ring[i]!;
    sum += a.x * b.y - b.x * a.y;
  }
  return sum / 2;
}

/** Options of gr_mvt for a plane where one CRS unit is one grid unit: x grows right, y up, both 0..4096. */
export function planeOptions(changes: Record<string, unknown> = {}): string {
  return JSON.stringify({
    layer: 'plane',
    fields: [],
    from: 'EPSG:3857',
    to: 'EPSG:3857',
    bbox: [0, 0, 4096, 4096],
    extent: 4096,
    buffer: 0,
    simplify: 0,
    ...changes,
  });
}
