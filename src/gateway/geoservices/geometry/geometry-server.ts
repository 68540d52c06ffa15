import { badParameter } from '../../../core/errors/errors.js';
import type { Crs } from '../../../core/geometry/crs.js';
import type { GeometryOperation } from '../../../core/geometry/geometry-operations.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { runTask } from '../../../services/kit/run-task.js';
import type { SurfaceDeps } from '../../surface/common.js';
import { common, documentFormat, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { jsonReply } from '../images/in-band.js';
import { CURRENT_VERSION } from '../layer-documents.js';
import { type Members, readChoiceMember, readFlagMember } from '../members.js';
import {
  type Compute,
  createEsriShape,
  createPlaneOptions,
  EMPTY,
  type GeometryComputation,
  type GeometryServerOperation,
  listAnswer,
  parameterDescriptions,
} from './geometry-answers.js';
import { EDITING } from './geometry-edits.js';
import { NOTATION_OPERATIONS } from './geometry-notations.js';
import {
  finiteNumbers,
  geometryMember,
  getMetresPerUnit,
  readAreaUnit,
  readGeometries,
  readLengthUnit,
  readPositiveNumber,
  referenceMember,
  requireReference,
} from './geometry-requests.js';
import { readDatumSteps, TRANSFORMATIONS } from './geometry-transformations.js';

const SERVER = 'GeometryServer';
const PATH = `/rest/services/Utilities/Geometry/${SERVER}`;

type Deps = Pick<SurfaceDeps, 'pools'>;
/** All operations: their names, summaries and parameters, and the functions that compute their responses. */
const OPERATIONS: readonly GeometryServerOperation[] = [
  [
    'project',
    'Geometries in another spatial reference',
    {
      geometries: parameterDescriptions.geometries,
      inSR: parameterDescriptions.sr,
      outSR: 'Spatial reference of the response.',
      transformation: 'Of datums, as findTransformations names it.',
      transformForward:
        'Direction of the transformation. Default: the one that matches the spatial references.',
    },
    project,
  ],
  [
    ...(['buffer', 'Areas within distances of geometries'] as const),
    {
      geometries: parameterDescriptions.geometries,
      inSR: parameterDescriptions.sr,
      outSR: 'Spatial reference of the response.',
      bufferSR: 'In which it is computed.',
      distances: 'Distances, by commas.',
      unit: 'Of the distances.',
      geodesic: parameterDescriptions.geodesic,
      unionResults: 'Merge the results into one geometry. Default: false.',
    },
    buffer,
  ],
  [
    'simplify',
    'Geometries that are valid',
    { geometries: parameterDescriptions.geometries, sr: parameterDescriptions.sr },
    each(() => ({ name: 'make-valid' })),
  ],
  [
    'convexHull',
    'The convex hull of all geometries',
    { geometries: parameterDescriptions.geometries, sr: parameterDescriptions.sr },
    together('hull'),
  ],
  [
    'union',
    'The union of all geometries',
    { geometries: parameterDescriptions.geometries, sr: parameterDescriptions.sr },
    together('union'),
  ],
  [
    'intersect',
    'What geometries share with one',
    {
      geometries: parameterDescriptions.geometries,
      geometry: parameterDescriptions.geometry,
      sr: parameterDescriptions.sr,
    },
    overlay('clip'),
  ],
  [
    'difference',
    'What geometries do not share with one',
    {
      geometries: parameterDescriptions.geometries,
      geometry: parameterDescriptions.geometry,
      sr: parameterDescriptions.sr,
    },
    overlay('subtract'),
  ],
  [
    ...(['generalize', 'Geometries of fewer corners'] as const),
    {
      geometries: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
      maxDeviation: 'How far lines may move.',
      deviationUnit: parameterDescriptions.lengthUnit,
    },
    each(
      (members, crs) => ({
        name: 'simplify',
        distance: planar(members, 'maxDeviation', 'deviationUnit', crs),
      }),
      { heights: true },
    ),
  ],
  [
    ...(['densify', 'Geometries of shorter segments'] as const),
    {
      geometries: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
      maxSegmentLength: 'Longest segment.',
      lengthUnit: parameterDescriptions.lengthUnit,
      geodesic: parameterDescriptions.geodesic,
    },
    each(densification, { heights: true }),
  ],
  [
    'labelPoints',
    'A point inside each area',
    { polygons: parameterDescriptions.geometries, sr: parameterDescriptions.sr },
    labelPoints,
  ],
  [
    'lengths',
    'Lengths of lines',
    {
      polylines: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
      lengthUnit: parameterDescriptions.lengthUnit,
      calculationType: parameterDescriptions.calculationType,
    },
    lengths,
  ],
  [
    ...(['areasAndLengths', 'Areas and perimeters'] as const),
    {
      polygons: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
      lengthUnit: parameterDescriptions.lengthUnit,
      areaUnit: 'Unit of areas.',
      calculationType: parameterDescriptions.calculationType,
    },
    areasAndLengths,
  ],
  [
    'distance',
    'The distance between two geometries',
    {
      geometry1: parameterDescriptions.geometry,
      geometry2: parameterDescriptions.geometry,
      sr: parameterDescriptions.sr,
      distanceUnit: parameterDescriptions.lengthUnit,
      geodesic: parameterDescriptions.geodesic,
    },
    distance,
  ],
  ...EDITING,
  ...NOTATION_OPERATIONS,
  ...TRANSFORMATIONS,
];

/** Operations on geometries from clients; they read no published data. */
export function geometryServerOperations({ pools }: Deps): Operation[] {
  return [
    ...readingOperation({
      about: about('service'),
      name: 'geometryService',
      path: PATH,
      pathParams: {},
      params: {},
      summary: 'The geometry service',
      run: (_x, _path, members) =>
        jsonReply({ currentVersion: CURRENT_VERSION, serviceDescription: '' }, documentFormat(members)),
    }),
    ...OPERATIONS.flatMap(([name, summary, params, answer]) =>
      readingOperation({
        about: about(name),
        name: `geometry${name[0]!.toUpperCase()}${name.slice(1)}`,
        path: `${PATH}/${name}`,
        summary,
        pathParams: {},
        jsonMembers: Object.keys(params),
        params: Object.fromEntries(Object.entries(params).map(([key, says]) => [key, member(key, says)])),
        async run(x: Exchange, _path, members) {
          const format = documentFormat(members);
          const document = await answer((task) => runTask(x, pools, 'process.geometry', task), members);
          return jsonReply(document, format);
        },
      }),
    ),
  ];
}

const about = (verb: string) => common(SERVER, verb, SERVER);

export const PROJECT_PARAMS = {
  geometries: member('geometries', parameterDescriptions.geometries),
  inSR: member('inSR', parameterDescriptions.sr),
  outSR: member('outSR', 'Spatial reference of the response.'),
};

/** Projects geometries as the geometry service does. */
export function projectGeometries(x: Exchange, pools: Deps['pools'], members: Members): Promise<object> {
  return project((task) => runTask(x, pools, 'process.geometry', task), members);
}

async function project(compute: Compute, members: Members) {
  const [from, to] = [requireReference(members, 'inSR'), requireReference(members, 'outSR')];
  const geometries = readGeometries(members, 'geometries', { heights: true });
  const operations: GeometryOperation[] = [{ name: 'none' }];
  const planes = { ...createPlaneOptions(from), target: to.proj };
  const steps = readDatumSteps(members);
  const result = await compute(
    steps
      ? { verb: 'transform', steps, geometries, ...planes }
      : { verb: 'each', operations, geometries, heights: true, ...planes },
  );
  return listAnswer(result.geometries, to, geometries);
}

async function buffer(compute: Compute, members: Members) {
  const from = requireReference(members, 'inSR');
  const plane = referenceMember(members, 'bufferSR') ?? referenceMember(members, 'outSR') ?? from;
  const target = referenceMember(members, 'outSR') ?? plane;
  const unit = readLengthUnit(members, 'unit');
  const ground = readFlagMember(members, 'geodesic', false) || (unit !== undefined && plane.geographic);
  const scale = ground ? (unit ?? 1) : unit === undefined ? 1 : unit / getMetresPerUnit(plane);
  const operations = finiteNumbers(members, 'distances').map((one): GeometryOperation => {
    if (ground && one <= 0) throw badParameter('distances', 'must be above 0 for geodesic buffers');
    return { name: 'buffer', distance: one * scale, ...(ground ? { ground } : { segments: 16 }) };
  });
  const geometries = readGeometries(members, 'geometries');
  // A polygon has at least four positions, so a larger product would exceed the limit anyway.
  if (geometries.length * operations.length * 4 > LIMITS.geometryPositions)
    throw badParameter(
      'distances',
      `make more than ${LIMITS.geometryPositions / 4} polygons. Send fewer geometries or distances`,
    );
  const union = readFlagMember(members, 'unionResults', false);
  const planes = { from: from.proj, plane: plane.proj, target: target.proj };
  const result = await compute({ verb: 'each', operations, union, geometries, ...planes });
  return listAnswer(result.geometries, target, geometries);
}

function densification(members: Members, crs: Crs): GeometryOperation {
  if (!readFlagMember(members, 'geodesic', false))
    return { name: 'densify', distance: planar(members, 'maxSegmentLength', 'lengthUnit', crs) };
  const metres =
    readPositiveNumber(members, 'maxSegmentLength') * (readLengthUnit(members, 'lengthUnit') ?? 1);
  return { name: 'densify', distance: metres, ground: true };
}

/** `heights`: the operation keeps them. */
function each(
  operationOf: (members: Members, crs: Crs) => GeometryOperation,
  { heights = false } = {},
): GeometryComputation {
  return async (compute, members) => {
    const crs = requireReference(members, 'sr');
    const operations = [operationOf(members, crs)];
    const geometries = readGeometries(members, 'geometries', { heights });
    const result = await compute({
      verb: 'each',
      operations,
      geometries,
      heights,
      ...createPlaneOptions(crs),
    });
    return listAnswer(result.geometries, crs, geometries);
  };
}

function together(verb: 'hull' | 'union'): GeometryComputation {
  return async (compute, members) => {
    const crs = requireReference(members, 'sr');
    const sent = readGeometries(members, 'geometries');
    const { geometries } = await compute({ verb, geometries: sent, ...createPlaneOptions(crs) });
    const list = listAnswer(geometries.slice(0, 1), crs, sent);
    return { geometryType: list.geometryType, geometry: list.geometries[0] ?? EMPTY[list.geometryType] };
  };
}

function overlay(verb: 'clip' | 'subtract'): GeometryComputation {
  return async (compute, members) => {
    const crs = requireReference(members, 'sr');
    const [geometries, by] = [readGeometries(members, 'geometries'), geometryMember(members, 'geometry')];
    const result = await compute({ verb, geometries, by, ...createPlaneOptions(crs) });
    return listAnswer(result.geometries, crs, geometries);
  };
}

/** A length in units of the plane. */
function planar(members: Members, name: string, unitName: string, crs: Crs): number {
  const unit = readLengthUnit(members, unitName);
  return readPositiveNumber(members, name) * (unit === undefined ? 1 : unit / getMetresPerUnit(crs));
}

async function labelPoints(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = readGeometries(members, 'polygons');
  const operations: GeometryOperation[] = [{ name: 'point-on-surface' }];
  const result = await compute({ verb: 'each', operations, geometries, ...createPlaneOptions(crs) });
  return {
    labelPoints: result.geometries.map((one) => (one ? createEsriShape(one, crs) : EMPTY.esriGeometryPoint)),
  };
}

/** Measures of a parameter's geometries, and the metres of a unit that these are in. */
async function measures(compute: Compute, members: Members, name: string) {
  const crs = requireReference(members, 'sr');
  const type = readChoiceMember(members, 'calculationType', {
    values: ['planar', 'geodesic'],
    fallback: 'planar',
  });
  const ground = type === 'geodesic';
  const geometries = readGeometries(members, name);
  const result = await compute({ verb: 'measure', ground, geometries, ...createPlaneOptions(crs) });
  return { measures: result.measures, metres: ground ? 1 : getMetresPerUnit(crs) };
}

async function lengths(compute: Compute, members: Members) {
  const unit = readLengthUnit(members, 'lengthUnit');
  const { measures: all, metres } = await measures(compute, members, 'polylines');
  return { lengths: all.map(({ length }) => (length * metres) / (unit ?? metres)) };
}

async function areasAndLengths(compute: Compute, members: Members) {
  const [unit, area] = [readLengthUnit(members, 'lengthUnit'), readAreaUnit(members, 'areaUnit')];
  const { measures: all, metres } = await measures(compute, members, 'polygons');
  return {
    areas: all.map((one) => (one.area * metres ** 2) / (area ?? metres ** 2)),
    lengths: all.map(({ perimeter }) => (perimeter * metres) / (unit ?? metres)),
  };
}

async function distance(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const [geometry, by] = [geometryMember(members, 'geometry1'), geometryMember(members, 'geometry2')];
  const [ground, unit] = [
    readFlagMember(members, 'geodesic', false),
    readLengthUnit(members, 'distanceUnit'),
  ];
  const result = await compute({
    verb: 'distance',
    ground,
    geometries: [geometry],
    by,
    ...createPlaneOptions(crs),
  });
  const metres = ground ? 1 : getMetresPerUnit(crs);
  return { distance: (result.distance! * metres) / (unit ?? metres) };
}
