import type { Box } from '../geometry/box.js';
import { around, computeEnvelope, mergeBoxesOnGlobe } from '../geometry/box.js';
import type { CollectionChange, FeatureEvent } from './edits.js';
import { EDIT_LIMITS } from './limits.js';

type Change = Pick<
  FeatureEvent,
  'operation' | 'geometry' | 'geometryChanged' | 'envelopeBefore' | 'envelopeAfter'
>;

/** Cells per side of the grid that gathers too many boxes into few. */
const CELLS = Math.floor(Math.sqrt(EDIT_LIMITS.editAreas));

/**
 * Bounding boxes in CRS84 of the changes in events, at most `EDIT_LIMITS.editAreas`; neighbouring boxes are combined.
 * Undefined if changed geometries have no position on Earth.
 */
export function changedAreas(events: readonly Change[]): Box[] | undefined {
  const boxes: Box[] = [];
  for (const { geometry, geometryChanged, envelopeBefore, envelopeAfter } of events) {
    if (envelopeBefore) boxes.push(envelopeBefore);
    if (envelopeAfter && !same(envelopeAfter, envelopeBefore)) boxes.push(envelopeAfter);
    const unplaced = !envelopeBefore && !envelopeAfter;
    if (unplaced && (geometry !== undefined || geometryChanged)) return undefined;
  }
  return boxes.length > EDIT_LIMITS.editAreas ? gathered(boxes) : boxes;
}

/** Combines the edits of one transaction to one change of their collection. */
export function mergeChanges(events: readonly Change[], cursor: number): CollectionChange {
  let features = 0;
  const boxes: Box[] = [];
  for (const { operation, geometry, envelopeAfter } of events) {
    if (operation === 'insert') features += 1;
    if (operation === 'delete') features -= 1;
    if (envelopeAfter) boxes.push(crossingBox(envelopeAfter, geometry) ?? envelopeAfter);
  }
  const extent84 = boxes.length > 0 ? mergeBoxesOnGlobe(boxes) : undefined;
  return { cursor, features, extent84, areas: changedAreas(events) };
}

/** Whether a box extends from -180 to 180 degrees, like the box of a geometry that was split there. */
export const isAroundEarth = (box: Box | undefined): boolean => box?.[0] === -180 && box[2] === 180;

/** The box across 180 degrees of a geometry that is cut there (RFC 7946, 3.1.9); undefined for other geometries. */
function crossingBox(box: Box, geometry: string | undefined): Box | undefined {
  if (!geometry || !isAroundEarth(box)) return undefined;
  const [, south, , north] = box;
  const parts = listParts(JSON.parse(geometry));
  const [eastern, western] = [parts.filter(([w]) => w >= 0), parts.filter(([, , e]) => e <= 0)];
  if (eastern.length + western.length < parts.length) return undefined;
  return [Math.min(...eastern.map(([w]) => w)), south, Math.max(...western.map(([, , e]) => e)), north];
}

type Part = { type: string; coordinates?: unknown[]; geometries?: Part[] };

/** Boxes of the parts of a geometry. */
function listParts({ type, coordinates = [], geometries }: Part): Box[] {
  if (geometries) return geometries.flatMap(listParts);
  const parts: unknown[] = type.startsWith('Multi') ? coordinates : [coordinates];
  return parts.flatMap((part) => {
    // A point has its numbers right here.
    const box = computeEnvelope([part]);
    return box ? [box] : [];
  });
}

function same(a: Box, b: Box | undefined): boolean {
  return b !== undefined && a.every((value, i) => value === b[i]);
}

/** Combines boxes to one box per grid cell, by their centres. */
function gathered(boxes: readonly Box[]): Box[] {
  const [west, south, east, north] = boxes.reduce(around);
  const cell = (low: number, high: number, from: number, to: number) =>
    Math.min(CELLS - 1, Math.floor((((low + high) / 2 - from) / (to - from || 1)) * CELLS));
  const cells = new Map<number, Box>();
  for (const box of boxes) {
    const index = cell(box[1], box[3], south, north) * CELLS + cell(box[0], box[2], west, east);
    const before = cells.get(index);
    cells.set(index, before ? around(before, box) : box);
  }
  return [...cells.values()];
}
