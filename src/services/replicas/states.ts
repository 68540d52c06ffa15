import type { Geometry } from 'geojson';
import type { FeatureText } from '../../core/edits/feature-text.js';
import { CRS84 } from '../../core/geometry/crs.js';
import type { SentFeature } from '../../core/geoservices/geoservices-features.js';
import type { Field, VectorSource } from '../../core/sources/vector-source.js';
import type { EventImage } from '../../core/streams/events.js';
import { canonicalDigits } from '../../core/values/exact-number.js';
import { parseJsonExactly, stringifyExactly } from '../../core/values/json.js';
import { type JsonText, sameJson } from '../../core/values/json-text.js';
import { transformPoints } from '../../native/index.js';
import type { FeatureState, FieldChange } from '../../stores/replicas/replica-conflicts.js';

/** Features of the three sides of a conflict, and how they differ. */

export function parseImageState(image: EventImage | null): FeatureState | null {
  return image && parseRowState({ properties: image.attributes, geometry: image.geometry ?? 'null' });
}

export function parseRowState({
  properties,
  geometry,
}: Pick<FeatureText, 'properties' | 'geometry'>): FeatureState {
  return {
    attributes: parseJsonExactly(properties, 'all') as Record<string, unknown>,
    geometry: JSON.parse(geometry) as unknown,
  };
}

/** Values of JSON texts. Numbers that a double cannot represent are `ExactNumber`s. */
export function parseJsonValues(texts: Readonly<Record<string, JsonText>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, json]) => [name, parseJsonExactly(json, 'all')]),
  );
}

/** The feature in the state that the client requests. Values that it did not send are unchanged. */
export function clientState(base: FeatureState | null, sent: SentFeature, crs: string): FeatureState {
  return {
    attributes: { ...base?.attributes, ...parseJsonValues(sent.values) },
    geometry: sent.geometry === undefined ? (base?.geometry ?? null) : in84(sent.geometry, crs),
  };
}

type NestedNumbers = number | readonly NestedNumbers[];

/** A geometry in CRS84, to compare it and to show it. */
function in84(geometry: Geometry | null, crs: string): unknown {
  if (geometry === null || geometry.type === 'GeometryCollection' || crs === CRS84.proj) return geometry;
  const coordinates = geometry.coordinates as NestedNumbers;
  const points = new Float64Array(listPositions(coordinates).flatMap(([x, y]) => [x!, y!]));
  transformPoints(points, crs, CRS84.proj);
  let at = 0;
  const moved = (nested: NestedNumbers): NestedNumbers => {
    if (!isPosition(nested)) return (nested as readonly NestedNumbers[]).map(moved);
    const [x, y] = points.subarray(at, (at += 2));
    return [degrees(x!), degrees(y!), ...nested.slice(2)];
  };
  return { type: geometry.type, coordinates: moved(coordinates) };
}

const isPosition = (nested: NestedNumbers): nested is readonly number[] =>
  Array.isArray(nested) && typeof nested[0] === 'number';

function listPositions(nested: NestedNumbers): (readonly number[])[] {
  return isPosition(nested) ? [nested] : (nested as readonly NestedNumbers[]).flatMap(listPositions);
}

/** Decimals of coordinates that events certainly did not round: three more would show. */
const SURE_PLACES = 4;

/**
 * Whether a geometry of an event, which is in degrees with seven decimals, is the stored one. Longer coordinates may have
 * been rounded, and points of arcs were computed.
 */
export function isStoredExactly({ geometryType, crs }: VectorSource, geometry: unknown): boolean {
  if (geometry === null) return true;
  const { type, coordinates } = geometry as { type: string; coordinates?: NestedNumbers };
  if (coordinates === undefined || geometryType === 'Geometry' || geometryType !== type) return false;
  const isShort = (nested: NestedNumbers): boolean =>
    typeof nested === 'number' ? Number(nested.toFixed(SURE_PLACES)) === nested : nested.every(isShort);
  return DEGREES.has(crs) && isShort(coordinates);
}

/** CRSs whose coordinates events keep. */
const DEGREES: ReadonlySet<string> = new Set([CRS84.proj, 'EPSG:4326']);

const degrees = (value: number) => Number(value.toFixed(7));

/** Maximum difference in degrees between two readings of one position: a few centimetres, the precision of events. */
const TOLERANCE = 5e-7;

/** Whether two geometries are the same, a single part being the same as a multi geometry of it. */
export function sameGeometry(a: unknown, b: unknown): boolean {
  if (a === null || b === null) return a === b;
  const [one, other] = [asMulti(a as Geometry), asMulti(b as Geometry)];
  return one.type === other.type && sameNumbers(one.coordinates, other.coordinates);
}

function asMulti(geometry: Geometry): { type: string; coordinates: NestedNumbers } {
  const { type, coordinates } = geometry as { type: string; coordinates: NestedNumbers };
  return type.startsWith('Multi')
    ? { type, coordinates }
    : { type: `Multi${type}`, coordinates: [coordinates] };
}

function sameNumbers(a: NestedNumbers, b: NestedNumbers): boolean {
  if (typeof a === 'number' || typeof b === 'number') return Math.abs(Number(a) - Number(b)) <= TOLERANCE;
  return a.length === b.length && a.every((part, i) => sameNumbers(part, b[i]!));
}

export function sameValue(a: unknown, b: unknown, type: Field['type'] | undefined): boolean {
  const [one, other] = [a ?? null, b ?? null];
  if (one === other) return true;
  if (one === null || other === null) return false;
  if (type === 'date-time') return Date.parse(String(one)) === Date.parse(String(other));
  if (type === 'integer' || type === 'number') return digitsIn(one) === digitsIn(other);
  return sameJson(stringifyExactly(one), stringifyExactly(other));
}

/** A number, or a string of its digits, in the one form of its value. */
const digitsIn = (value: unknown) => canonicalDigits(String(value));

/** Fields that one or both sides changed. `sent` are the fields in the client's edit. */
export function fieldChanges(
  fields: readonly Field[],
  sent: ReadonlySet<string>,
  states: { base: FeatureState | null; client: FeatureState | null; server: FeatureState | null },
): FieldChange[] {
  return fields.flatMap(({ name: field, type }) => {
    const [baseValue, clientValue, serverValue] = [states.base, states.client, states.server].map(
      (state) => state?.attributes[field] ?? null,
    );
    const changedOnClient = sent.has(field) && !sameValue(baseValue, clientValue, type);
    const changedOnServer = !sameValue(baseValue, serverValue, type);
    if (!changedOnClient && !changedOnServer) return [];
    return [{ field, baseValue, clientValue, serverValue, changedOnClient, changedOnServer }];
  });
}

/** Whether the server already has the state that the client requests. */
export function meansTheSame(
  fields: readonly Field[],
  sent: SentFeature,
  client: FeatureState,
  server: FeatureState,
): boolean {
  return (
    fields.every(
      ({ name, type }) =>
        !(name in sent.values) || sameValue(client.attributes[name], server.attributes[name], type),
    ) &&
    (sent.geometry === undefined || sameGeometry(client.geometry, server.geometry))
  );
}
