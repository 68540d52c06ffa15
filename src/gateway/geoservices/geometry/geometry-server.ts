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
import { choiceOf, flagOf, type Members } from '../members.js';
import {
  type Answer,
  type Compute,
  EMPTY,
  type GeometryServerOperation,
  inPlane,
  listAnswer,
  shapeOf,
  text,
} from './geometry-answers.js';
import { EDITING } from './geometry-editing.js';
import { NOTATION_OPERATIONS } from './geometry-notations.js';
import {
  areaUnitOf,
  finiteNumbers,
  geometriesOf,
  geometryMember,
  metresOf,
  positiveNumber,
  referenceMember,
  requireReference,
  unitOf,
} from './geometry-requests.js';
import { stepsOf, TRANSFORMATIONS } from './geometry-transformations.js';

const SERVER = 'GeometryServer';
const PATH = `/rest/services/Utilities/Geometry/${SERVER}`;

type Deps = Pick<SurfaceDeps, 'pools'>;
/** Every operation: its name, what it does, what it takes, and how it is answered. */
const OPERATIONS: readonly GeometryServerOperation[] = [
  [
    'project',
    'Geometries in another spatial reference',
    {
      geometries: text.geometries,
      inSR: text.sr,
      outSR: 'Of the answer.',
      transformation: 'Of datums, as findTransformations names it.',
      transformForward: 'Its direction; the one that fits when absent.',
    },
    project,
  ],
  [
    ...(['buffer', 'Areas within distances of geometries'] as const),
    {
      ...{
        geometries: text.geometries,
        inSR: text.sr,
        outSR: 'Of the answer.',
        bufferSR: 'In which it is computed.',
      },
      ...{ distances: 'Distances, by commas.', unit: 'Of the distances.', geodesic: text.geodesic },
      unionResults: 'One area of all; false when absent.',
    },
    buffer,
  ],
  [
    'simplify',
    'Geometries that are valid',
    { geometries: text.geometries, sr: text.sr },
    each(() => ({ name: 'make-valid' })),
  ],
  [
    'convexHull',
    'The convex hull of all geometries',
    { geometries: text.geometries, sr: text.sr },
    together('hull'),
  ],
  ['union', 'The union of all geometries', { geometries: text.geometries, sr: text.sr }, together('union')],
  [
    'intersect',
    'What geometries share with one',
    { geometries: text.geometries, geometry: text.geometry, sr: text.sr },
    overlay('clip'),
  ],
  [
    'difference',
    'What geometries do not share with one',
    { geometries: text.geometries, geometry: text.geometry, sr: text.sr },
    overlay('subtract'),
  ],
  [
    ...(['generalize', 'Geometries of fewer corners'] as const),
    {
      geometries: text.geometries,
      sr: text.sr,
      maxDeviation: 'How far lines may move.',
      deviationUnit: text.lengthUnit,
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
      geometries: text.geometries,
      sr: text.sr,
      maxSegmentLength: 'Longest segment.',
      lengthUnit: text.lengthUnit,
      geodesic: text.geodesic,
    },
    each(densification, { heights: true }),
  ],
  ['labelPoints', 'A point inside each area', { polygons: text.geometries, sr: text.sr }, labelPoints],
  [
    'lengths',
    'Lengths of lines',
    {
      polylines: text.geometries,
      sr: text.sr,
      lengthUnit: text.lengthUnit,
      calculationType: text.calculationType,
    },
    lengths,
  ],
  [
    ...(['areasAndLengths', 'Areas and perimeters'] as const),
    {
      polygons: text.geometries,
      sr: text.sr,
      lengthUnit: text.lengthUnit,
      areaUnit: 'Unit of areas.',
      calculationType: text.calculationType,
    },
    areasAndLengths,
  ],
  [
    'distance',
    'The distance between two geometries',
    {
      geometry1: text.geometry,
      geometry2: text.geometry,
      sr: text.sr,
      distanceUnit: text.lengthUnit,
      geodesic: text.geodesic,
    },
    distance,
  ],
  ...EDITING,
  ...NOTATION_OPERATIONS,
  ...TRANSFORMATIONS,
];

/** Geometries that clients send, and what becomes of them: nothing is read from the data. */
export function geometryServerOperations({ pools }: Deps): Operation[] {
  return [
    ...readingOperation({
      ...{ about: about('service'), name: 'geometryService', path: PATH, pathParams: {}, params: {} },
      summary: 'The geometry service',
      run: (_x, _path, members) =>
        jsonReply({ currentVersion: CURRENT_VERSION, serviceDescription: '' }, documentFormat(members)),
    }),
    ...OPERATIONS.flatMap(([name, summary, params, answer]) =>
      readingOperation({
        ...{
          about: about(name),
          name: `geometry${name[0]!.toUpperCase()}${name.slice(1)}`,
          path: `${PATH}/${name}`,
          summary,
        },
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
  geometries: member('geometries', text.geometries),
  inSR: member('inSR', text.sr),
  outSR: member('outSR', 'Of the answer.'),
};

/** Projects geometries as the geometry service does. */
export function projectGeometries(x: Exchange, pools: Deps['pools'], members: Members): Promise<object> {
  return project((task) => runTask(x, pools, 'process.geometry', task), members);
}

async function project(compute: Compute, members: Members) {
  const [from, to] = [requireReference(members, 'inSR'), requireReference(members, 'outSR')];
  const geometries = geometriesOf(members, 'geometries', { heights: true });
  const operations: GeometryOperation[] = [{ name: 'none' }];
  const planes = { ...inPlane(from), target: to.proj };
  const steps = stepsOf(members);
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
  const unit = unitOf(members, 'unit');
  const ground = flagOf(members, 'geodesic', false) || (unit !== undefined && plane.geographic);
  const scale = ground ? (unit ?? 1) : unit === undefined ? 1 : unit / metresOf(plane);
  const operations = finiteNumbers(members, 'distances').map((one): GeometryOperation => {
    if (ground && one <= 0) throw badParameter('distances', 'must be above 0 over the ground');
    return { name: 'buffer', distance: one * scale, ...(ground ? { ground } : { segments: 16 }) };
  });
  const geometries = geometriesOf(members, 'geometries');
  // An area has four positions at least, so that more would make no answer.
  if (geometries.length * operations.length * 4 > LIMITS.geometryPositions)
    throw badParameter('distances', `make more than ${LIMITS.geometryPositions / 4} areas of all geometries`);
  const union = flagOf(members, 'unionResults', false);
  const planes = { from: from.proj, plane: plane.proj, target: target.proj };
  const result = await compute({ verb: 'each', operations, union, geometries, ...planes });
  return listAnswer(result.geometries, target, geometries);
}

function densification(members: Members, crs: Crs): GeometryOperation {
  if (!flagOf(members, 'geodesic', false))
    return { name: 'densify', distance: planar(members, 'maxSegmentLength', 'lengthUnit', crs) };
  const metres = positiveNumber(members, 'maxSegmentLength') * (unitOf(members, 'lengthUnit') ?? 1);
  return { name: 'densify', distance: metres, ground: true };
}

/** `heights`: the operation keeps them. */
function each(
  operationOf: (members: Members, crs: Crs) => GeometryOperation,
  { heights = false } = {},
): Answer {
  return async (compute, members) => {
    const crs = requireReference(members, 'sr');
    const operations = [operationOf(members, crs)];
    const geometries = geometriesOf(members, 'geometries', { heights });
    const result = await compute({ verb: 'each', operations, geometries, heights, ...inPlane(crs) });
    return listAnswer(result.geometries, crs, geometries);
  };
}

function together(verb: 'hull' | 'union'): Answer {
  return async (compute, members) => {
    const crs = requireReference(members, 'sr');
    const sent = geometriesOf(members, 'geometries');
    const { geometries } = await compute({ verb, geometries: sent, ...inPlane(crs) });
    const list = listAnswer(geometries.slice(0, 1), crs, sent);
    return { geometryType: list.geometryType, geometry: list.geometries[0] ?? EMPTY[list.geometryType] };
  };
}

function overlay(verb: 'clip' | 'subtract'): Answer {
  return async (compute, members) => {
    const crs = requireReference(members, 'sr');
    const [geometries, by] = [geometriesOf(members, 'geometries'), geometryMember(members, 'geometry')];
    const result = await compute({ verb, geometries, by, ...inPlane(crs) });
    return listAnswer(result.geometries, crs, geometries);
  };
}

/** A length in units of the plane. */
function planar(members: Members, name: string, unitName: string, crs: Crs): number {
  const unit = unitOf(members, unitName);
  return positiveNumber(members, name) * (unit === undefined ? 1 : unit / metresOf(crs));
}

async function labelPoints(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = geometriesOf(members, 'polygons');
  const operations: GeometryOperation[] = [{ name: 'point-on-surface' }];
  const result = await compute({ verb: 'each', operations, geometries, ...inPlane(crs) });
  return { labelPoints: result.geometries.map((one) => (one ? shapeOf(one, crs) : EMPTY.esriGeometryPoint)) };
}

/** Measures of a parameter's geometries, and the metres of a unit that these are in. */
async function measures(compute: Compute, members: Members, name: string) {
  const crs = requireReference(members, 'sr');
  const type = choiceOf(members, 'calculationType', { values: ['planar', 'geodesic'], fallback: 'planar' });
  const ground = type === 'geodesic';
  const geometries = geometriesOf(members, name);
  const result = await compute({ verb: 'measure', ground, geometries, ...inPlane(crs) });
  return { measures: result.measures, metres: ground ? 1 : metresOf(crs) };
}

async function lengths(compute: Compute, members: Members) {
  const unit = unitOf(members, 'lengthUnit');
  const { measures: all, metres } = await measures(compute, members, 'polylines');
  return { lengths: all.map(({ length }) => (length * metres) / (unit ?? metres)) };
}

async function areasAndLengths(compute: Compute, members: Members) {
  const [unit, area] = [unitOf(members, 'lengthUnit'), areaUnitOf(members, 'areaUnit')];
  const { measures: all, metres } = await measures(compute, members, 'polygons');
  return {
    areas: all.map((one) => (one.area * metres ** 2) / (area ?? metres ** 2)),
    lengths: all.map(({ perimeter }) => (perimeter * metres) / (unit ?? metres)),
  };
}

async function distance(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const [geometry, by] = [geometryMember(members, 'geometry1'), geometryMember(members, 'geometry2')];
  const [ground, unit] = [flagOf(members, 'geodesic', false), unitOf(members, 'distanceUnit')];
  const result = await compute({ verb: 'distance', ground, geometries: [geometry], by, ...inPlane(crs) });
  const metres = ground ? 1 : metresOf(crs);
  return { distance: (result.distance! * metres) / (unit ?? metres) };
}
