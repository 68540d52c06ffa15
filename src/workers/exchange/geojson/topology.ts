import { readFile, stat } from 'node:fs/promises';

/** Geometries of TopoJSON that GDAL reads as empty, reads in part, or drops, which it reports nowhere. */

interface Topology {
  readonly objects?: unknown;
  readonly arcs?: unknown;
}

interface TopologyGeometry {
  readonly type?: unknown;
  readonly coordinates?: unknown;
  readonly arcs?: unknown;
  readonly geometries?: unknown;
}

/** A larger file is not read a second time: it would need several times its size in memory. */
const MAX_BYTES = 256 << 20;
const UNCHECKED =
  'The file is larger than 256 MiB: it was not searched for geometries that cannot be read. They are omitted.';

/** Sentences on them; none for text that is not JSON, which GDAL refuses. */
export async function noteTopology(path: string): Promise<string[]> {
  const { size } = await stat(path);
  if (size > MAX_BYTES) return [UNCHECKED];
  const { objects, arcs } = readTopology(await readFile(path, 'utf8'));
  const isArc = Array.isArray(arcs) ? arcs.map(isLine) : [];
  const broken: string[] = [];
  let dropped = 0;
  for (const [name, object] of Object.entries(objects ?? {})) {
    for (const [i, geometry] of readFeatures(object).entries()) {
      const state = readState(geometry, isArc);
      if (state === 'dropped') dropped++;
      else if (state === 'broken') broken.push(`${name}[${i}]`);
    }
  }
  return [
    ...(broken.length === 0
      ? []
      : [
          `Geometries of the file that cannot be read, or only in part: ${broken.length}. The first ones: ${broken.slice(0, MAX_NAMED).join(', ')}.`,
        ]),
    ...(dropped === 0
      ? []
      : [`Objects of the file without a geometry, or of an unknown type, are omitted: ${dropped}.`]),
  ];
}

/** Features in a sentence. */
const MAX_NAMED = 5;

function readTopology(text: string): Topology {
  try {
    const topology: unknown = JSON.parse(text);
    return typeof topology === 'object' && topology !== null ? topology : {};
  } catch {
    return {};
  }
}

/** GDAL converts each object to a layer, and each geometry of a collection to a feature. */
function readFeatures(object: unknown): readonly unknown[] {
  const { type, geometries } = (object ?? {}) as TopologyGeometry;
  return type === 'GeometryCollection' && Array.isArray(geometries) ? geometries : [object];
}

type State = 'whole' | 'broken' | 'dropped';

function readState(geometry: unknown, isArc: readonly boolean[]): State {
  const { type, coordinates, arcs, geometries } = (geometry ?? {}) as TopologyGeometry;
  const isPath = (path: unknown) => isList(path, (arc) => isKnownArc(arc, isArc));
  const whole = (isWhole: boolean): State => (isWhole ? 'whole' : 'broken');
  switch (type) {
    case 'Point':
      return whole(isPosition(coordinates));
    case 'MultiPoint':
      return whole(isList(coordinates, isPosition));
    case 'LineString':
      return whole(isPath(arcs));
    case 'MultiLineString':
    case 'Polygon':
      return whole(isList(arcs, isPath));
    case 'MultiPolygon':
      return whole(isList(arcs, (polygon) => isList(polygon, isPath)));
    case 'GeometryCollection':
      return whole(isList(geometries, (member) => readState(member, isArc) === 'whole'));
    default:
      return 'dropped';
  }
}

const isList = (value: unknown, isMember: (member: unknown) => boolean) =>
  Array.isArray(value) && value.every(isMember);

const isPosition = (value: unknown) => isList(value, Number.isFinite) && (value as []).length >= 2;

const isLine = (arc: unknown) => isList(arc, isPosition);

/** An arc is named by its index; by the complement of it where it is run through backwards. */
function isKnownArc(arc: unknown, isArc: readonly boolean[]): boolean {
  if (!Number.isInteger(arc)) return false;
  const index = arc as number;
  return isArc[index < 0 ? ~index : index] === true;
}
