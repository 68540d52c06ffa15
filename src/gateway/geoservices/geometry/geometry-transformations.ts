import { badParameter } from '../../../core/errors/errors.js';
import type { DatumStep, StepChoice } from '../../../core/geoservices/geometry-service.js';
import { parseLenientJson } from '../../../services/geoservices/geometry.js';
import { parseMapBox } from '../maps/map-window.js';
import { type Members, readFlagMember, requireObject, wholeNumber } from '../members.js';
import { type Compute, createPlaneOptions, type GeometryServerOperation } from './geometry-answers.js';
import { finiteNumber, requireReference } from './geometry-requests.js';

/** Transformations between datums, by the numbers that EPSG and Esri give them. */

export const TRANSFORMATIONS: readonly GeometryServerOperation[] = [
  [
    ...(['findTransformations', 'Ways from one spatial reference to another'] as const),
    {
      inSR: 'From which.',
      outSR: 'To which.',
      extentOfInterest: 'An envelope where they shall be good.',
      numOfResults: 'Maximum number of results, or -1 for all. Default: 1.',
    },
    findTransformations,
  ],
];

async function findTransformations(compute: Compute, members: Members) {
  const [from, to] = [requireReference(members, 'inSR'), requireReference(members, 'outSR')];
  const area = parseMapBox('extentOfInterest', members['extentOfInterest']);
  if (readFlagMember(members, 'vertical', false)) throw badParameter('vertical', 'is not supported');
  const most = members['numOfResults'] === undefined ? 1 : finiteNumber(members, 'numOfResults');
  if (!Number.isInteger(most) || (most < 1 && most !== -1))
    throw badParameter('numOfResults', 'must be an integer of at least 1, or -1');
  const result = await compute({
    verb: 'find-ways',
    geometries: [],
    ...createPlaneOptions(from),
    target: to.proj,
    areaCrs: (area?.crs ?? from).proj,
    ...(area ? { area: area.bbox } : {}),
  });
  return { transformations: result.ways!.slice(0, most === -1 ? undefined : most).map(wayDocument) };
}

/** A single number identifies a path of one transformation in its defined direction. */
function wayDocument(steps: readonly DatumStep[]) {
  const numbers = ({ code, name }: DatumStep) => ({ wkid: code, latestWkid: code, name });
  const [first, ...others] = steps;
  if (first!.isForward && others.length === 0) return numbers(first!);
  return { geoTransforms: steps.map((step) => ({ ...numbers(step), transformForward: step.isForward })) };
}

/** Maximum number of transformations for a projection. */
const MAX_STEPS = 10;

/**
 * The transformations in `transformation` and `transformForward`; undefined if PROJ should choose. A transformation
 * fits between two references in one direction only. Without `transformForward` that direction is used, although Esri
 * documents false: the numbers of `findTransformations` are for the forward direction.
 */
export function readDatumSteps(members: Members): StepChoice[] | undefined {
  const value = members['transformation'];
  if (value === undefined || value === '') return undefined;
  const read =
    typeof value === 'string' && /^\s*\{/.test(value) ? parseLenientJson('transformation', value) : value;
  if (typeof read !== 'object')
    return [{ code: wholeNumber('transformation', read), ...readDirection(members) }];
  const transformation = requireObject('transformation', read);
  const list = transformation['geoTransforms'];
  if (list === undefined) return [{ code: readCode(transformation), ...readDirection(members) }];
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_STEPS)
    throw badParameter('transformation', `must have 1 to ${MAX_STEPS} geoTransforms`);
  return list.map((one) => {
    const step = requireObject('transformation', one);
    return { code: readCode(step), ...readDirection(step) };
  });
}

function readCode({ latestWkid, wkid }: Members): number {
  if (latestWkid === undefined && wkid === undefined)
    throw badParameter('transformation', 'must have a wkid');
  return wholeNumber('transformation', latestWkid ?? wkid);
}

function readDirection(members: Members): Pick<StepChoice, 'isForward'> {
  const value = members['transformForward'];
  return value === undefined || value === ''
    ? {}
    : { isForward: readFlagMember(members, 'transformForward', true) };
}
