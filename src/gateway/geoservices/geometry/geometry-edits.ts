import type { Geometry } from 'geojson';
import { badParameter } from '../../../core/errors/errors.js';
import type { GeometryOperation } from '../../../core/geometry/geometry-operations.js';
import { RELATIONS } from '../../../core/geoservices/geometry-service.js';
import {
  type Members,
  readChoiceMember,
  readFlagMember,
  readIntegerMember,
  readTextMember,
} from '../members.js';
import {
  type Compute,
  createEsriShape,
  createPlaneOptions,
  type GeometryServerOperation,
  listAnswer,
  parameterDescriptions,
} from './geometry-answers.js';
import {
  finiteNumber,
  geometryMember,
  getMetresPerUnit,
  readGeometries,
  readLengthUnit,
  readPositiveNumber,
  requireReference,
} from './geometry-requests.js';

/** Operations of a GeometryServer that edit geometries with lines, and that test spatial relationships. */

export const EDITING: readonly GeometryServerOperation[] = [
  [
    ...(['relation', 'Pairs of geometries in a relation'] as const),
    {
      geometries1: parameterDescriptions.geometries,
      geometries2: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
      relation: 'esriGeometryRelation… and its name.',
      relationParam: 'Of esriGeometryRelationRelation: nine of T, F, 0, 1, 2 and *.',
    },
    relation,
  ],
  [
    'cut',
    'Lines and areas cut by a line',
    { target: parameterDescriptions.geometries, cutter: 'A polyline as JSON.', sr: parameterDescriptions.sr },
    cut,
  ],
  [
    ...(['offset', 'Lines and areas beside others'] as const),
    {
      geometries: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
      offsetDistance: 'To the right, or where negative to the left.',
      offsetUnit: parameterDescriptions.lengthUnit,
      offsetHow: 'esriGeometryOffsetMitered, esriGeometryOffsetBevelled or esriGeometryOffsetRounded.',
      bevelRatio: 'Distances at which corners are cut off.',
      simplifyResult: 'Loops are left out in any case.',
    },
    offset,
  ],
  [
    'reshape',
    'A line or area along another line',
    { target: parameterDescriptions.geometry, reshaper: 'A polyline as JSON.', sr: parameterDescriptions.sr },
    reshape,
  ],
  [
    ...(['trimExtend', 'Lines as far as another line'] as const),
    {
      polylines: parameterDescriptions.geometries,
      trimExtendTo: 'A polyline as JSON.',
      sr: parameterDescriptions.sr,
      extendHow: 'Sum of 1 (ends move), 2, 4, 8 (not at the start) and 16 (not at the end).',
    },
    trimExtend,
  ],
  [
    'autoComplete',
    'Areas between areas and lines',
    {
      polygons: parameterDescriptions.geometries,
      polylines: parameterDescriptions.geometries,
      sr: parameterDescriptions.sr,
    },
    autoComplete,
  ],
];

const PATTERN_LENGTH = 9;
const MAX_TEXT = 200;
/** `RELATE(G1, G2, "FFFTTT***")`, as clients of old write a pattern. */
const RELATE = /^\s*RELATE\s*\(\s*G1\s*,\s*G2\s*,\s*["']([^"']*)["']\s*\)\s*$/i;

const relationNames = RELATIONS.map((name) => `esriGeometryRelation${name}` as const);

async function relation(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const name = readChoiceMember(members, 'relation', {
    values: relationNames,
    fallback: 'esriGeometryRelationIntersection',
  });
  const pattern = name === 'esriGeometryRelationRelation' ? choosePattern(members) : undefined;
  const result = await compute({
    verb: 'relate',
    geometries: readGeometries(members, 'geometries1'),
    others: readGeometries(members, 'geometries2'),
    relation: RELATIONS[relationNames.indexOf(name)]!,
    ...(pattern === undefined ? {} : { pattern }),
    ...createPlaneOptions(crs),
  });
  const relations = result.relations!.map(([left, right]) => ({
    geometry1Index: left,
    geometry2Index: right,
  }));
  return { relations };
}

function choosePattern(members: Members): string {
  const value = readTextMember(members, 'relationParam', MAX_TEXT) ?? '';
  const pattern = (RELATE.exec(value)?.[1] ?? value).trim().toUpperCase();
  if (pattern.length !== PATTERN_LENGTH || !/^[TF012*]*$/.test(pattern))
    throw badParameter('relationParam', 'must have nine characters, each of them T, F, 0, 1, 2 or *');
  return pattern;
}

async function cut(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = linesOrAreas(readGeometries(members, 'target'), 'target');
  const by = polylineMember(members, 'cutter');
  const result = await compute({ verb: 'cut', geometries, by, ...createPlaneOptions(crs) });
  return { ...listAnswer(result.geometries, crs, geometries), cutIndexes: result.cutIndexes! };
}

const OFFSETS = [
  'esriGeometryOffsetMitered',
  'esriGeometryOffsetBevelled',
  'esriGeometryOffsetRounded',
] as const;
/** GEOS's numbers of joins. */
const [ROUND, MITRE] = [1, 2];
/** Segments per quarter circle, as of buffers. */
const SEGMENTS = 16;
/** Maximum length of a corner, as a multiple of the distance. */
const MITRE_LIMIT = 10;
const BEVEL_LIMIT = 1.1;

async function offset(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = linesOrAreas(readGeometries(members, 'geometries'), 'geometries');
  const isArea = geometries[0]!.type === 'MultiPolygon';
  if (geometries.some(({ type }) => (type === 'MultiPolygon') !== isArea))
    throw badParameter('geometries', 'must be all polylines or all polygons');
  readFlagMember(members, 'simplifyResult', true);
  const unit = readLengthUnit(members, 'offsetUnit');
  const distance =
    finiteNumber(members, 'offsetDistance') * (unit === undefined ? 1 : unit / getMetresPerUnit(crs));
  const operation: GeometryOperation = {
    name: isArea ? 'buffer' : 'offset-curve',
    // The right of an exterior ring, which runs clockwise, is its inside; GEOS offsets lines to the left.
    distance: -distance,
    ...readJoin(members),
    segments: SEGMENTS,
  };
  const operations = [distance === 0 ? ({ name: 'none' } as const) : operation];
  const result = await compute({ verb: 'each', operations, geometries, ...createPlaneOptions(crs) });
  return listAnswer(result.geometries, crs, geometries);
}

function readJoin(members: Members): Pick<GeometryOperation, 'join' | 'mitreLimit'> {
  const how = readChoiceMember(members, 'offsetHow', { values: OFFSETS, fallback: OFFSETS[0] });
  if (how === 'esriGeometryOffsetRounded') return { join: ROUND };
  const fallback = how === 'esriGeometryOffsetMitered' ? MITRE_LIMIT : BEVEL_LIMIT;
  const ratio = members['bevelRatio'];
  const isAbsent = ratio === undefined || ratio === '';
  return { join: MITRE, mitreLimit: isAbsent ? fallback : readPositiveNumber(members, 'bevelRatio') };
}

async function reshape(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = linesOrAreas([geometryMember(members, 'target')], 'target');
  const by = polylineMember(members, 'reshaper');
  const result = await compute({ verb: 'reshape', geometries, by, ...createPlaneOptions(crs) });
  const { geometryType } = listAnswer(result.geometries, crs, geometries);
  return { geometryType, geometry: createEsriShape(result.geometries[0]!, crs) };
}

/** Bits of `extendHow`; 2 and 4 are of attributes of ends, which there are none of. */
const [MOVES, NOT_AT_START, NOT_AT_END, ALL_BITS] = [1, 8, 16, 31];

async function trimExtend(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = ofType(readGeometries(members, 'polylines'), 'polylines', 'MultiLineString');
  const by = polylineMember(members, 'trimExtendTo');
  const bits = readIntegerMember(members, 'extendHow') ?? 0;
  if (bits > ALL_BITS) throw badParameter('extendHow', `must be a sum of 1, 2, 4, 8 and 16`);
  const extension = {
    moves: (bits & MOVES) !== 0,
    atStart: (bits & NOT_AT_START) === 0,
    atEnd: (bits & NOT_AT_END) === 0,
  };
  const result = await compute({
    verb: 'trim-extend',
    geometries,
    by,
    extension,
    ...createPlaneOptions(crs),
  });
  return listAnswer(result.geometries, crs, geometries);
}

async function autoComplete(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = ofType(readGeometries(members, 'polygons'), 'polygons', 'MultiPolygon');
  const others = ofType(readGeometries(members, 'polylines'), 'polylines', 'MultiLineString');
  const result = await compute({ verb: 'complete', geometries, others, ...createPlaneOptions(crs) });
  return listAnswer(result.geometries, crs, geometries);
}

function polylineMember(members: Members, name: string): Geometry {
  return ofType([geometryMember(members, name)], name, 'MultiLineString')[0]!;
}

function linesOrAreas(geometries: Geometry[], name: string): Geometry[] {
  if (geometries.some(({ type }) => type === 'Point' || type === 'MultiPoint'))
    throw badParameter(name, 'must be polylines or polygons');
  return geometries;
}

function ofType(geometries: Geometry[], name: string, wish: 'MultiLineString' | 'MultiPolygon'): Geometry[] {
  if (geometries.some(({ type }) => type !== wish))
    throw badParameter(name, `must be ${wish === 'MultiPolygon' ? 'polygons' : 'polylines'}`);
  return geometries;
}
