import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { GeometryOperation, GeometryOperationName } from '../../../core/geometry/geometry-operations.js';
import { resolveCrs } from '../../../native/crs.js';
import type { FeaturesFacts, InputDefinition, InputValues, ProcessDefinition } from '../definition.js';
import {
  FEATURES_OUTPUT,
  featuresInput,
  featuresWork,
  getNumberInput,
  invalidInput,
  isStrict,
  lengthInCrs,
  lengthInput,
  makeOptional,
  metresOnGround,
  requireFieldNames,
  unitInput,
} from './parts.js';

/** Processes that do something to each feature for itself. Attributes stay. */

interface MapSpec {
  id: string;
  title: string;
  description: string;
  inputs?: Record<string, InputDefinition>;
  parts?: boolean;
  operation(values: InputValues, facts: FeaturesFacts): GeometryOperation;
  crs?(values: InputValues): string;
}

function mapProcess({
  id,
  title,
  description,
  inputs,
  operation,
  crs,
  parts = false,
}: MapSpec): ProcessDefinition {
  return {
    id,
    title,
    description,
    keywords: ['vector'],
    inputs: {
      features: featuresInput('Features', 'The features to work on.'),
      ...inputs,
      invalidGeometries: invalidInput,
    },
    outputs: { features: FEATURES_OUTPUT },
    work: featuresWork((values, facts) => ({
      process: {
        kind: 'map',
        parts,
        operation: { ...operation(values, facts), strict: isStrict(values) },
        ...(crs ? { crs: crs(values) } : {}),
      },
    })),
  };
}

/** One without parameters. */
const plain = (id: string, name: GeometryOperationName, title: string, description: string) =>
  mapProcess({ id, title, description, operation: () => ({ name }) });

/** Beyond it buffers over the ground are off by more than one per cent. */
const MAX_METRES = 1_000_000;

const CAPS = ['round', 'flat', 'square'];
const JOINS = ['round', 'mitre', 'bevel'];

function choice(title: string, description: string, values: readonly string[]): InputDefinition {
  return makeOptional({ title, description, schema: Type.String({ enum: [...values], default: values[0] }) });
}

function count(title: string, description: string, range: { least: number; most: number; usual: number }) {
  const schema = Type.Integer({ minimum: range.least, maximum: range.most, default: range.usual });
  return makeOptional({ title, description, schema });
}

const buffer = mapProcess({
  id: 'geometry.buffer',
  title: 'Buffer',
  description:
    'Areas within a distance of each feature. In a geographic CRS metres are measured over the ground; else the distance is one of the plane.',
  inputs: {
    distance: {
      title: 'Distance',
      description: 'Negative distances shrink areas, in a plane.',
      schema: Type.Number(),
    },
    unit: unitInput,
    segments: count('Segments', 'Segments per quarter circle, in a plane.', {
      least: 1,
      most: 200,
      usual: 8,
    }),
    cap: choice('End caps', 'How lines end, in a plane.', CAPS),
    join: choice('Joins', 'How corners are joined, in a plane.', JOINS),
    mitreLimit: makeOptional({
      title: 'Mitre limit',
      description: 'Longest mitre, as a multiple of the distance.',
      schema: Type.Number({ minimum: 1, default: 5 }),
    }),
    singleSided: makeOptional({
      title: 'One side',
      description: 'Lines get a buffer on their left alone; on their right for negative distances.',
      schema: Type.Boolean({ default: false }),
    }),
  },
  operation: bufferOperation,
});

/** A buffer over the ground or in the plane. Throws 400 for a distance that it does not take. */
export function bufferOperation(values: InputValues, facts: FeaturesFacts): GeometryOperation {
  const metres = metresOnGround(values, 'distance', facts);
  if (metres === undefined) return planeBuffer(values, facts);
  if (metres < 0) throw badParameter('/inputs/distance', 'must not be negative in a geographic CRS');
  if (metres > MAX_METRES)
    throw badParameter('/inputs/distance', `must be at most ${MAX_METRES} m in a geographic CRS`);
  return { name: 'buffer', distance: metres, ground: true };
}

function planeBuffer(values: InputValues, facts: FeaturesFacts): GeometryOperation {
  return {
    name: 'buffer',
    distance: lengthInCrs(values, 'distance', facts),
    segments: getNumberInput(values, 'segments', 8),
    cap: CAPS.indexOf(String(values['cap'] ?? CAPS[0])) + 1,
    join: JOINS.indexOf(String(values['join'] ?? JOINS[0])) + 1,
    mitreLimit: getNumberInput(values, 'mitreLimit', 5),
    singleSided: values['singleSided'] === true,
  };
}

const simplify = mapProcess({
  id: 'geometry.simplify',
  title: 'Simplify',
  description:
    'Fewer vertices, none of which was further from the result than the tolerance (Douglas and Peucker).',
  inputs: {
    tolerance: lengthInput('Tolerance', 'Largest distance of a vertex that is left out.'),
    unit: unitInput,
    preserveTopology: makeOptional({
      title: 'Preserve topology',
      description: 'Geometries stay valid, and none vanishes.',
      schema: Type.Boolean({ default: true }),
    }),
  },
  operation: (values, facts) => ({
    name: values['preserveTopology'] === false ? 'simplify' : 'simplify-topology',
    distance: lengthInCrs(values, 'tolerance', facts),
  }),
});

const densify = mapProcess({
  id: 'geometry.densify',
  title: 'Densify',
  description: 'Vertices are added so that no segment is longer than a length.',
  inputs: { segmentLength: lengthInput('Segment length', 'Longest segment.'), unit: unitInput },
  operation(values, facts) {
    const distance = lengthInCrs(values, 'segmentLength', facts);
    if (distance <= 0) throw badParameter('/inputs/segmentLength', 'must be greater than 0');
    return { name: 'densify', distance };
  },
});

const smooth = mapProcess({
  id: 'geometry.smooth',
  title: 'Smooth',
  description: 'Corners are cut at a quarter of their segments, again and again (Chaikin). Z is dropped.',
  inputs: { iterations: count('Iterations', 'Each doubles the vertices.', { least: 1, most: 8, usual: 2 }) },
  operation: (values) => ({ name: 'smooth', iterations: getNumberInput(values, 'iterations', 2) }),
});

export const ratioInput = makeOptional({
  title: 'Ratio',
  description: 'Longest edge of the hull, between the shortest (0) and the longest (1) of the triangulation.',
  schema: Type.Number({ minimum: 0, maximum: 1, default: 0.3 }),
});
export const holesInput = makeOptional({
  title: 'Holes',
  description: 'Whether the hull may have holes.',
  schema: Type.Boolean({ default: false }),
});

const snapToGrid = mapProcess({
  id: 'geometry.snap',
  title: 'Snap to a grid',
  description:
    'Vertices move to the nearest point of a grid; geometries stay valid, what collapses is left out.',
  inputs: { cellSize: lengthInput('Cell size', 'Distance of two grid points.'), unit: unitInput },
  operation(values, facts) {
    const distance = lengthInCrs(values, 'cellSize', facts);
    if (distance <= 0) throw badParameter('/inputs/cellSize', 'must be greater than 0');
    return { name: 'snap-to-grid', distance };
  },
});

const makeValid = mapProcess({
  id: 'geometry.make-valid',
  title: 'Repair geometries',
  description:
    'Invalid geometries become valid ones of the same rings (OGC 06-103r4); valid ones stay as they are.',
  inputs: {
    keepCollapsed: makeOptional({
      title: 'Keep what collapses',
      description: 'Parts of areas that have none are kept as lines and points.',
      schema: Type.Boolean({ default: false }),
    }),
  },
  operation: (values) => ({ name: 'make-valid', keepCollapsed: values['keepCollapsed'] === true }),
});

const project = mapProcess({
  id: 'geometry.project',
  title: 'Reproject',
  description: 'Coordinates in another coordinate reference system. Z and M are dropped.',
  inputs: {
    targetCrs: {
      title: 'Target CRS',
      description: 'EPSG:3857, an address or a URN of a coordinate reference system.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    },
  },
  operation: () => ({ name: 'none' }),
  crs: (values) => resolveCrs('/inputs/targetCrs', String(values['targetCrs'])).proj,
});

const concaveHull = mapProcess({
  id: 'geometry.concave-hull',
  title: 'Concave hulls',
  description: 'A tight hull around the vertices of each feature.',
  inputs: { ratio: ratioInput, holes: holesInput },
  operation: (values) => ({
    name: 'concave-hull',
    ratio: getNumberInput(values, 'ratio', 0.3),
    holes: values['holes'] === true,
  }),
});

const singlePart = mapProcess({
  id: 'geometry.multipart-to-singlepart',
  title: 'Parts as features',
  description: 'A feature for each part of a multi geometry or collection, with the attributes of the whole.',
  parts: true,
  operation: () => ({ name: 'none' }),
});

const select: ProcessDefinition = {
  id: 'conversion.feature-select',
  title: 'Select features',
  description:
    'The features as they are, with some of their attributes: all of a collection, or those that pass a filter.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    fields: makeOptional({
      title: 'Fields',
      description: 'Attributes that stay; all when absent.',
      schema: Type.Array(Type.String(), { maxItems: 1000 }),
    }),
  },
  outputs: { features: FEATURES_OUTPUT },
  work: featuresWork((values, facts) => ({
    process: { kind: 'map', operation: { name: 'none' } },
    ...(values['fields'] === undefined ? {} : { fields: requireFieldNames(values, 'fields', facts) }),
  })),
};

export const GEOMETRY_PROCESSES: readonly ProcessDefinition[] = [
  buffer,
  simplify,
  densify,
  smooth,
  plain('geometry.convex-hull', 'convex-hull', 'Convex hulls', 'The convex hull of each feature.'),
  concaveHull,
  plain(
    'geometry.centroid',
    'centroid',
    'Centroids',
    'The centroid of each feature, which may lie outside of it.',
  ),
  plain(
    'geometry.point-on-surface',
    'point-on-surface',
    'Points on surfaces',
    'A point inside of each feature.',
  ),
  plain('geometry.boundary', 'boundary', 'Boundaries', 'Rings of areas, ends of lines.'),
  plain('geometry.envelope', 'envelope', 'Envelopes', 'The box around each feature.'),
  plain(
    'geometry.oriented-box',
    'oriented-box',
    'Oriented boxes',
    'The smallest rectangle around each feature.',
  ),
  plain(
    'geometry.bounding-circle',
    'bounding-circle',
    'Bounding circles',
    'The smallest circle around each feature.',
  ),
  plain(
    'geometry.line-merge',
    'line-merge',
    'Merge lines',
    'Lines of a feature that meet at their ends become one.',
  ),
  makeValid,
  snapToGrid,
  project,
  select,
  singlePart,
];
