import { computeEnvelope } from '../../core/geometry/box.js';

interface MessageGeometry {
  readonly type?: string;
  readonly coordinates?: readonly unknown[];
  readonly geometries?: readonly MessageGeometry[];
}

/**
 * Longitude and latitude of the feature in an alert message: the middle of its first part, because parts do not cross the
 * antimeridian. Null without a geometry.
 */
export function findMessagePosition(message: string): readonly [number, number] | null {
  const { geometry } = JSON.parse(message) as { geometry?: MessageGeometry | null };
  const first = geometry?.geometries?.[0] ?? geometry;
  const isMulti = first?.type?.startsWith('Multi') === true;
  const box = first && computeEnvelope(isMulti ? first.coordinates?.[0] : first);
  return box ? [round((box[0] + box[2]) / 2), round((box[1] + box[3]) / 2)] : null;
}

const round = (degrees: number) => Math.round(degrees * 1e7) / 1e7;
