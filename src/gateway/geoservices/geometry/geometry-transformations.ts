import { badParameter } from '../../../core/errors/errors.js';
import type { DatumStep, StepChoice } from '../../../core/geoservices/geometry-service.js';
import { parseLenientJson } from '../../../services/geoservices/geometry.js';
import { parseMapBox } from '../maps/map-window.js';
import { type Members, readFlagMember, requireObject, wholeNumber } from '../members.js';
import { type Compute, createPlaneOptions, type GeometryServerOperation } from './geometry-answers.js';
import { finiteNumber, requireReference } from './geometry-requests.js';

/** Transformations between datums, by their EPSG and Esri codes. A path is a list of transformations (steps). */

export const TRANSFORMATIONS: readonly GeometryServerOperation[] = [
  [
    'findTransformations',
    'Transformations from one spatial reference to another',
    {
      inSR: 'Spatial reference to transform from.',
      outSR: 'Spatial reference to transform to.',
      extentOfInterest: 'Envelope in which the transformations must be accurate.',
      numOfResults: 'Maximum number of results, or -1 for all. Default: 1.',
      vertical: 'Vertical transformations are not supported: only false is allowed. Default: false.',
    },
    findTransformations,
  ],
];

async function findTransformations(compute: Compute, members: Members) {
  const [from, to] = [requireReference(members, 'inSR'), requireReference(members, 'outSR')];
  const area = parseMapBox('extentOfInterest', members['extentOfInterest']);
  if (readFlagMember(members, 'vertical', false))
    throw badParameter('vertical', 'must be false: vertical transformations are not supported');
  const limit = members['numOfResults'] === undefined ? 1 : finiteNumber(members, 'numOfResults');
  if (!Number.isInteger(limit) || (limit < 1 && limit !== -1))
    throw badParameter('numOfResults', 'must be an integer of at least 1, or -1');
  const result = await compute({
    verb: 'find-paths',
    geometries: [],
    ...createPlaneOptions(from),
    target: to.proj,
    areaCrs: (area?.crs ?? from).proj,
    ...(area ? { area: area.bbox } : {}),
  });
  return { transformations: result.paths!.slice(0, limit === -1 ? undefined : limit).map(describePath) };
}

/** A path as Esri writes it: only the code of a single forward step, or else `geoTransforms`. */
function describePath(steps: readonly DatumStep[]) {
  const describeCode = ({ code, name }: DatumStep) => ({ wkid: code, latestWkid: code, name });
  const [first, ...others] = steps;
  if (first!.isForward && others.length === 0) return describeCode(first!);
  return {
    geoTransforms: steps.map((step) => ({ ...describeCode(step), transformForward: step.isForward })),
  };
}

/** Maximum number of transformations for a projection. */
const MAX_STEPS = 10;

/**
 * The steps in `transformation` and `transformForward`. Undefined if PROJ chooses them. Without `transformForward` the
 * server uses the direction that fits the two references. Esri documents the default false, but clients send codes of
 * `findTransformations`, which apply forward.
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
