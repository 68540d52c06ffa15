/** Members of a GeoJSON geometry that two texts are compared by. */
interface Geometry {
  type: string;
  coordinates?: unknown;
  geometries?: readonly Geometry[];
}

type Position = readonly number[];

/** Relative difference of two numbers that clients of quantised coordinates compute alike. */
const NOISE = 4 * Number.EPSILON;

/**
 * Whether a geometry from a client equals the shown geometry. Both are GeoJSON text in the same CRS, or `null`. With
 * `hasParts`, as in GeoServices, the sent geometry can lack heights, and the order and direction of its parts do not
 * matter.
 */
export function isSameGeometry(sent: string, shown: string, hasParts: boolean): boolean {
  if (sent === shown) return true;
  // GeoServices show neither none nor an empty geometry with positions.
  if (hasParts && shown === 'null') return isEmptySent(sent);
  if (sent === 'null' || shown === 'null') return false;
  const [one, other] = [JSON.parse(sent) as Geometry, JSON.parse(shown) as Geometry];
  return hasParts ? haveSameParts(one, other, isClose) : isEqual(one, other);
}

/**
 * Whether the geometry of a file equals a stored geometry, as text in the file's CRS. Either all coordinates are
 * equal, or all are rounded to one of these numbers of decimal places. Files do not have to keep heights, or the
 * order and direction of parts.
 */
export function isRoundedGeometry(sent: string, stored: string, places: readonly number[]): boolean {
  if (sent === stored) return true;
  if (sent === 'null' || stored === 'null') return false;
  const [one, other] = [JSON.parse(sent) as Geometry, JSON.parse(stored) as Geometry];
  return [isClose, ...places.map(isRounded)].some((same) => haveSameParts(one, other, same));
}

type SameNumber = (sent: number, shown: number) => boolean;

const isClose: SameNumber = (sent, shown) =>
  Math.abs(sent - shown) <= NOISE * Math.max(Math.abs(sent), Math.abs(shown));

const isRounded =
  (places: number): SameNumber =>
  (sent, shown) =>
    isClose(sent, Number(sent.toFixed(places))) &&
    Math.abs(sent - shown) <= 0.5 / 10 ** places + NOISE * Math.abs(shown);

function isEqual(a: Geometry, b: Geometry): boolean {
  if (a.type !== b.type) return false;
  if (!a.geometries || !b.geometries) return areEqual(a.coordinates, b.coordinates);
  const others = b.geometries;
  return a.geometries.length === others.length && a.geometries.every((one, i) => isEqual(one, others[i]!));
}

function areEqual(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one, i) => areEqual(one, b[i]));
}

function haveSameParts(sent: Geometry, shown: Geometry, same: SameNumber): boolean {
  const type = (geometry: Geometry) => geometry.type.replace('Multi', '');
  if (type(sent) !== type(shown) || sent.geometries) return false;
  const [parts, rest] = [readParts(sent.coordinates), readParts(shown.coordinates)];
  if (parts.length !== rest.length) return false;
  const isRing = type(sent) === 'Polygon';
  // Most clients keep the order, in which each search ends immediately.
  return parts.every((part) => {
    const at = rest.findIndex((other) => isSamePart(part, other, isRing, same));
    if (at >= 0) rest.splice(at, 1);
    return at >= 0;
  });
}

function isEmptySent(sent: string): boolean {
  const { coordinates } = JSON.parse(sent) as Geometry;
  return Array.isArray(coordinates) && coordinates.length === 0;
}

/** The lines or rings of coordinates that nest to any depth; a point is a line of one position. */
function readParts(coordinates: unknown): Position[][] {
  const list = coordinates as readonly unknown[];
  if (typeof list[0] === 'number') return [[list as Position]];
  const [first] = list as readonly (readonly unknown[])[];
  return typeof first?.[0] === 'number' ? [[...(list as Position[])]] : list.flatMap(readParts);
}

function isSamePart(
  sent: readonly Position[],
  shown: readonly Position[],
  isRing: boolean,
  same: SameNumber,
): boolean {
  if (sent.length !== shown.length) return false;
  const forwards = sent.every((position, i) => isSamePosition(position, shown[i]!, same));
  return (
    forwards || (isRing && sent.every((position, i) => isSamePosition(position, shown.at(-1 - i)!, same)))
  );
}

/** Without heights where none were sent. */
function isSamePosition(sent: Position, shown: Position, same: SameNumber): boolean {
  return sent.length <= shown.length && sent.every((number, i) => same(number, shown[i]!));
}
