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
    'Creates the area within a distance of each feature. In a geographic CRS, the distance is geodesic; otherwise it is planar.',
  inputs: {
    distance: {
      title: 'Distance',
      description: 'Distance of the buffer. Negative distances shrink areas (planar only).',
      schema: Type.Number(),
    },
    unit: unitInput,
    segments: count('Segments', 'Segments per quarter circle (planar only).', {
      least: 1,
      most: 200,
      usual: 8,
    }),
    cap: choice('End caps', 'Shape of line ends (planar only).', CAPS),
    join: choice('Joins', 'Shape of corners (planar only).', JOINS),
    mitreLimit: makeOptional({
      title: 'Mitre limit',
      description: 'Maximum mitre length as a multiple of the distance.',
      schema: Type.Number({ minimum: 1, default: 5 }),
    }),
    singleSided: makeOptional({
      title: 'One side',
      description: 'Whether lines get a buffer only on the left, or on the right for negative distances.',
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
  description: 'Removes vertices that are within the tolerance of the result (Douglas-Peucker).',
  inputs: {
    tolerance: lengthInput('Tolerance', 'Maximum distance of a removed vertex from the result.'),
    unit: unitInput,
    preserveTopology: makeOptional({
      title: 'Preserve topology',
      description: 'Whether geometries remain valid and non-empty.',
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
  description: 'Adds vertices so that no segment exceeds a length.',
  inputs: { segmentLength: lengthInput('Segment length', 'Maximum length of a segment.'), unit: unitInput },
  operation(values, facts) {
    const distance = lengthInCrs(values, 'segmentLength', facts);
    if (distance <= 0) throw badParameter('/inputs/segmentLength', 'must be greater than 0');
    return { name: 'densify', distance };
  },
});

const smooth = mapProcess({
  id: 'geometry.smooth',
  title: 'Smooth',
  description: 'Cuts corners repeatedly at a quarter of their segments (Chaikin). Z values are removed.',
  inputs: {
    iterations: count('Iterations', 'Number of iterations. Each doubles the vertices.', {
      least: 1,
      most: 8,
      usual: 2,
    }),
  },
  operation: (values) => ({ name: 'smooth', iterations: getNumberInput(values, 'iterations', 2) }),
});

export const ratioInput = makeOptional({
  title: 'Ratio',
  description:
    'Maximum edge length of the hull, from the shortest (0) to the longest (1) edge of the triangulation.',
  schema: Type.Number({ minimum: 0, maximum: 1, default: 0.3 }),
});
export const holesInput = makeOptional({
  title: 'Holes',
  description: 'Whether the hull can have holes.',
  schema: Type.Boolean({ default: false }),
});

const snapToGrid = mapProcess({
  id: 'geometry.snap',
  title: 'Snap to a grid',
  description:
    'Moves vertices to the nearest point of a grid. Geometries remain valid; collapsed parts are removed.',
  inputs: { cellSize: lengthInput('Cell size', 'Distance between two grid points.'), unit: unitInput },
  operation(values, facts) {
    const distance = lengthInCrs(values, 'cellSize', facts);
    if (distance <= 0) throw badParameter('/inputs/cellSize', 'must be greater than 0');
    return { name: 'snap-to-grid', distance };
  },
});

const makeValid = mapProcess({
  id: 'geometry.make-valid',
  title: 'Repair geometries',
  description: 'Repairs invalid geometries (OGC 06-103r4). Valid geometries are unchanged.',
  inputs: {
    keepCollapsed: makeOptional({
      title: 'Keep collapsed parts',
      description: 'Whether collapsed parts of areas are kept as lines and points.',
      schema: Type.Boolean({ default: false }),
    }),
  },
  operation: (values) => ({ name: 'make-valid', keepCollapsed: values['keepCollapsed'] === true }),
});

const project = mapProcess({
  id: 'geometry.project',
  title: 'Reproject',
  description: 'Transforms coordinates to another coordinate reference system. Z and M values are removed.',
  inputs: {
    targetCrs: {
      title: 'Target CRS',
      description: 'Coordinate reference system: EPSG:3857, a URI or a URN.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    },
  },
  operation: () => ({ name: 'none' }),
  crs: (values) => resolveCrs('/inputs/targetCrs', String(values['targetCrs'])).proj,
});

const concaveHull = mapProcess({
  id: 'geometry.concave-hull',
  title: 'Concave hulls',
  description: 'Creates the concave hull of each feature.',
  inputs: { ratio: ratioInput, holes: holesInput },
  operation: (values) => ({
    name: 'concave-hull',
    ratio: getNumberInput(values, 'ratio', 0.3),
    holes: values['holes'] === true,
  }),
});

const singlePart = mapProcess({
  id: 'geometry.multipart-to-singlepart',
  title: 'Multipart to single parts',
  description:
    'Creates a feature for each part of a multi geometry or collection, with the attributes of the original.',
  parts: true,
  operation: () => ({ name: 'none' }),
});

const select: ProcessDefinition = {
  id: 'conversion.feature-select',
  title: 'Select features',
  description: 'Selects features by a filter, and attributes.',
  keywords: ['vector'],
  inputs: {
    features: featuresInput('Features', 'The features to work on.'),
    fields: makeOptional({
      title: 'Fields',
      description: 'Attributes of the output. Default: all.',
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
  plain('geometry.convex-hull', 'convex-hull', 'Convex hulls', 'Creates the convex hull of each feature.'),
  concaveHull,
  plain(
    'geometry.centroid',
    'centroid',
    'Centroids',
    'Creates the centroid of each feature, which can be outside the feature.',
  ),
  plain(
    'geometry.point-on-surface',
    'point-on-surface',
    'Point on surface',
    'Creates a point inside each feature.',
  ),
  plain(
    'geometry.boundary',
    'boundary',
    'Boundaries',
    'Creates the boundary of each feature: rings of areas, end points of lines.',
  ),
  plain('geometry.envelope', 'envelope', 'Envelopes', 'Creates the bounding box of each feature.'),
  plain(
    'geometry.oriented-box',
    'oriented-box',
    'Oriented boxes',
    'Creates the minimum rotated rectangle of each feature.',
  ),
  plain(
    'geometry.bounding-circle',
    'bounding-circle',
    'Bounding circles',
    'Creates the minimum bounding circle of each feature.',
  ),
  plain(
    'geometry.line-merge',
    'line-merge',
    'Merge lines',
    'Merges the lines of a feature that share end points.',
  ),
  makeValid,
  snapToGrid,
  project,
  select,
  singlePart,
];
