import type { Point } from 'geojson';
import { badParameter } from '../../../core/errors/errors.js';
import { NOTATIONS, type Notation, type NotationName } from '../../../core/geometry/coordinate-notations.js';
import { GEOSERVICES_LIMITS } from '../limits.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readListMember,
} from '../members.js';
import {
  type Compute,
  createPlaneOptions,
  type GeometryServerOperation,
  parameterDescriptions,
} from './geometry-answers.js';
import { requireReference } from './geometry-requests.js';

/** Operations of a GeometryServer that write places as text, and read them. */

const conversion = {
  sr: parameterDescriptions.sr,
  conversionType: `${NOTATIONS.join(', ')}. Default: MGRS.`,
  conversionMode: 'mgrsNewWith180InZone01, utmNorthSouth, garsCenter and others.',
};

export const NOTATION_OPERATIONS: readonly GeometryServerOperation[] = [
  [
    ...(['toGeoCoordinateString', 'Places as text'] as const),
    {
      ...conversion,
      coordinates: '[[x,y],…]',
      numOfDigits: 'Digits of each number, or decimals of angles.',
      rounding: 'Round the numbers. Default: true.',
      addSpaces: 'Whether spaces stand between parts.',
    },
    toStrings,
  ],
  [
    ...(['fromGeoCoordinateString', 'Places that text tells'] as const),
    { ...conversion, strings: 'A JSON array of text.' },
    fromStrings,
  ],
];

async function toStrings(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = listMember(members, 'coordinates').map(readPoint);
  const notation = readNotation(members);
  const result = await compute({ verb: 'write', notation, geometries, ...createPlaneOptions(crs) });
  return { strings: result.strings! };
}

async function fromStrings(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const strings = listMember(members, 'strings');
  if (!strings.every((one) => typeof one === 'string' && one.length <= MAX_TEXT))
    throw badParameter('strings', `must be a string of at most ${MAX_TEXT} characters`);
  const notation = readNotation(members);
  const result = await compute({
    verb: 'read',
    strings: strings as string[],
    notation,
    geometries: [],
    ...createPlaneOptions(crs),
  });
  return { coordinates: result.geometries.map((one) => (one as Point).coordinates) };
}

/** Maximum characters of one coordinate text. */
const MAX_TEXT = 100;
const MAX_DIGITS = 10;
const DIGITS: Record<NotationName, number> = {
  MGRS: 5,
  USNG: 8,
  UTM: 0,
  GeoRef: 5,
  GARS: 0,
  DMS: 2,
  DDM: 4,
  DD: 6,
};
const MGRS_MODES = ['mgrsDefault', 'mgrsNewStyle', 'mgrsNewWith180InZone01'] as const;
const MODES: Record<NotationName, readonly [string, ...string[]]> = {
  MGRS: MGRS_MODES,
  USNG: MGRS_MODES,
  UTM: ['utmDefault', 'utmNorthSouth'],
  GARS: ['garsDefault', 'garsLowerLeft', 'garsCenter'],
  GeoRef: ['default'],
  DMS: ['default'],
  DDM: ['default'],
  DD: ['default'],
};

function readNotation(members: Members): Notation {
  const name = readChoiceMember(members, 'conversionType', { values: NOTATIONS, fallback: 'MGRS' });
  const [fallback, ...others] = MODES[name];
  // Modes of other notations have no meaning here.
  const mode =
    others.length === 0
      ? fallback
      : readChoiceMember(members, 'conversionMode', { values: MODES[name], fallback });
  const digits = readIntegerMember(members, 'numOfDigits') ?? DIGITS[name];
  if (digits > MAX_DIGITS) throw badParameter('numOfDigits', `must be at most ${MAX_DIGITS}`);
  return {
    name,
    digits,
    rounds: readFlagMember(members, 'rounding', true),
    spaces: readFlagMember(members, 'addSpaces', name !== 'MGRS'),
    seamInZone1: mode === 'mgrsNewWith180InZone01',
    hemispheres: mode === 'utmNorthSouth',
    centre: mode === 'garsCenter',
  };
}

function listMember(members: Members, name: string): unknown[] {
  const list = readListMember(members, name, GEOSERVICES_LIMITS.geometries);
  if (!list || list.length === 0) throw badParameter(name, 'is required, and must not be empty');
  return list;
}

function readPoint(value: unknown): Point {
  const [x, y] = Array.isArray(value) ? (value as unknown[]) : [];
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw badParameter('coordinates', 'must be [[x,y],…]');
  return { type: 'Point', coordinates: [x as number, y as number] };
}
