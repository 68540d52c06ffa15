import type { EditTask } from '../../core/edits.js';
import type { FeatureOutput } from '../../core/features.js';
import { describeCrs } from '../../native/index.js';
import type { PreparedEdit } from './prepare.js';
import type { StoredFeature } from './session.js';

/** How features are shown to most clients. */
export const OUTPUT_84: FeatureOutput = {
  format: 'geojson',
  crs: 'OGC:CRS84',
  swapAxes: false,
  precision: 7,
};

/**
 * How features are shown in the CRS that the geometries of a task come in: as in listings, coordinates are rounded.
 * Undefined where that is `OUTPUT_84`, or no geometry comes.
 */
export function outputOfTask(
  task: Pick<EditTask, 'source'> & Partial<Pick<EditTask, 'crs' | 'swapAxes'>>,
): FeatureOutput | undefined {
  const { crs, swapAxes = false } = task;
  if (crs === undefined || (crs === OUTPUT_84.crs && !swapAxes)) return undefined;
  return { format: 'geojson', crs, swapAxes, precision: describeCrs(crs).isGeographic ? 7 : 3 };
}

/**
 * Whether the geometry of an edit is the one that the server shows of the stored feature. What is stored may say more:
 * its coordinates were rounded, brought into another CRS, cut at 180 degrees, or could not be shown at all.
 */
export function isGeometryShown({ operation }: PreparedEdit, before: StoredFeature): boolean {
  const { geometry: sent, areAttributes = false } = 'feature' in operation ? operation.feature : {};
  if (sent === undefined) return false;
  const shown = before.shown ?? before.geometry84;
  // Null in a patch clears a geometry that cannot be shown.
  if (sent === 'null' && operation.type === 'update' && !areAttributes) return false;
  return sent === shown || isSame(JSON.parse(sent), JSON.parse(shown));
}

interface Shape {
  type: string;
  coordinates?: unknown;
  geometries?: Shape[];
}

function isSame(a: Shape | null, b: Shape | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.type !== b.type) return false;
  if (b.geometries === undefined) return areEqual(a.coordinates, b.coordinates);
  const { geometries } = b;
  return (
    a.geometries?.length === geometries.length && a.geometries.every((one, i) => isSame(one, geometries[i]!))
  );
}

function areEqual(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one, i) => areEqual(one, b[i]));
}
