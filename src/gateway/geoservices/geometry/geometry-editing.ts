import type { Geometry } from 'geojson';
import { badParameter } from '../../../core/errors/errors.js';
import type { GeometryOperation } from '../../../core/geometry/geometry-operations.js';
import { RELATIONS } from '../../../core/geoservices/geometry-service.js';
import { choiceOf, flagOf, type Members, numberOf, textOf } from '../members.js';
import {
  type Compute,
  type GeometryServerOperation,
  inPlane,
  listAnswer,
  shapeOf,
  text,
} from './geometry-answers.js';
import {
  finiteNumber,
  geometriesOf,
  geometryMember,
  metresOf,
  positiveNumber,
  requireReference,
  unitOf,
} from './geometry-requests.js';

/** Operations of a GeometryServer that lay lines over geometries, and tell how geometries stand to each other. */

export const EDITING: readonly GeometryServerOperation[] = [
  [
    ...(['relation', 'Pairs of geometries in a relation'] as const),
    {
      geometries1: text.geometries,
      geometries2: text.geometries,
      sr: text.sr,
      relation: 'esriGeometryRelation… and its name.',
      relationParam: 'Of esriGeometryRelationRelation: nine of T, F, 0, 1, 2 and *.',
    },
    relation,
  ],
  [
    'cut',
    'Lines and areas cut by a line',
    { target: text.geometries, cutter: 'A polyline as JSON.', sr: text.sr },
    cut,
  ],
  [
    ...(['offset', 'Lines and areas beside others'] as const),
    {
      geometries: text.geometries,
      sr: text.sr,
      offsetDistance: 'To the right, or where negative to the left.',
      offsetUnit: text.lengthUnit,
      offsetHow: 'esriGeometryOffsetMitered, esriGeometryOffsetBevelled or esriGeometryOffsetRounded.',
      bevelRatio: 'Distances at which corners are cut off.',
      simplifyResult: 'Loops are left out in any case.',
    },
    offset,
  ],
  [
    'reshape',
    'A line or area along another line',
    { target: text.geometry, reshaper: 'A polyline as JSON.', sr: text.sr },
    reshape,
  ],
  [
    ...(['trimExtend', 'Lines as far as another line'] as const),
    {
      polylines: text.geometries,
      trimExtendTo: 'A polyline as JSON.',
      sr: text.sr,
      extendHow: 'Sum of 1 (ends move), 2, 4, 8 (not at the start) and 16 (not at the end).',
    },
    trimExtend,
  ],
  [
    'autoComplete',
    'Areas between areas and lines',
    { polygons: text.geometries, polylines: text.geometries, sr: text.sr },
    autoComplete,
  ],
];

const PATTERN_LENGTH = 9;
const MOST_TEXT = 200;
/** `RELATE(G1, G2, "FFFTTT***")`, as clients of old write a pattern. */
const RELATE = /^\s*RELATE\s*\(\s*G1\s*,\s*G2\s*,\s*["']([^"']*)["']\s*\)\s*$/i;

const relationNames = RELATIONS.map((name) => `esriGeometryRelation${name}` as const);

async function relation(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const name = choiceOf(members, 'relation', {
    values: relationNames,
    fallback: 'esriGeometryRelationIntersection',
  });
  const pattern = name === 'esriGeometryRelationRelation' ? patternOf(members) : undefined;
  const result = await compute({
    verb: 'relate',
    geometries: geometriesOf(members, 'geometries1'),
    others: geometriesOf(members, 'geometries2'),
    relation: RELATIONS[relationNames.indexOf(name)]!,
    ...(pattern === undefined ? {} : { pattern }),
    ...inPlane(crs),
  });
  const relations = result.relations!.map(([left, right]) => ({
    geometry1Index: left,
    geometry2Index: right,
  }));
  return { relations };
}

function patternOf(members: Members): string {
  const value = textOf(members, 'relationParam', MOST_TEXT) ?? '';
  const pattern = (RELATE.exec(value)?.[1] ?? value).trim().toUpperCase();
  if (pattern.length !== PATTERN_LENGTH || !/^[TF012*]*$/.test(pattern))
    throw badParameter('relationParam', 'must be nine of T, F, 0, 1, 2 and *');
  return pattern;
}

async function cut(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = linesOrAreas(geometriesOf(members, 'target'), 'target');
  const by = polylineMember(members, 'cutter');
  const result = await compute({ verb: 'cut', geometries, by, ...inPlane(crs) });
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
/** Distances from a corner at which it is cut off. */
const MITRE_LIMIT = 10;
const BEVEL_LIMIT = 1.1;

async function offset(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = linesOrAreas(geometriesOf(members, 'geometries'), 'geometries');
  const isArea = geometries[0]!.type === 'MultiPolygon';
  if (geometries.some(({ type }) => (type === 'MultiPolygon') !== isArea))
    throw badParameter('geometries', 'must be all lines or all areas');
  flagOf(members, 'simplifyResult', true);
  const unit = unitOf(members, 'offsetUnit');
  const distance = finiteNumber(members, 'offsetDistance') * (unit === undefined ? 1 : unit / metresOf(crs));
  const operation: GeometryOperation = {
    name: isArea ? 'buffer' : 'offset-curve',
    // The right of an exterior ring, which runs clockwise, is its inside; GEOS offsets lines to the left.
    distance: -distance,
    ...joinOf(members),
    segments: SEGMENTS,
  };
  const operations = [distance === 0 ? ({ name: 'none' } as const) : operation];
  const result = await compute({ verb: 'each', operations, geometries, ...inPlane(crs) });
  return listAnswer(result.geometries, crs, geometries);
}

function joinOf(members: Members): Pick<GeometryOperation, 'join' | 'mitreLimit'> {
  const how = choiceOf(members, 'offsetHow', { values: OFFSETS, fallback: OFFSETS[0] });
  if (how === 'esriGeometryOffsetRounded') return { join: ROUND };
  const fallback = how === 'esriGeometryOffsetMitered' ? MITRE_LIMIT : BEVEL_LIMIT;
  const ratio = members['bevelRatio'];
  const isAbsent = ratio === undefined || ratio === '';
  return { join: MITRE, mitreLimit: isAbsent ? fallback : positiveNumber(members, 'bevelRatio') };
}

async function reshape(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = linesOrAreas([geometryMember(members, 'target')], 'target');
  const by = polylineMember(members, 'reshaper');
  const result = await compute({ verb: 'reshape', geometries, by, ...inPlane(crs) });
  const { geometryType } = listAnswer(result.geometries, crs, geometries);
  return { geometryType, geometry: shapeOf(result.geometries[0]!, crs) };
}

/** Bits of `extendHow`; 2 and 4 are of attributes of ends, which there are none of. */
const [MOVES, NOT_AT_START, NOT_AT_END, ALL_BITS] = [1, 8, 16, 31];

async function trimExtend(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = ofType(geometriesOf(members, 'polylines'), 'polylines', 'MultiLineString');
  const by = polylineMember(members, 'trimExtendTo');
  const bits = numberOf(members, 'extendHow') ?? 0;
  if (bits > ALL_BITS) throw badParameter('extendHow', `must be a sum of 1, 2, 4, 8 and 16`);
  const extension = {
    moves: (bits & MOVES) !== 0,
    atStart: (bits & NOT_AT_START) === 0,
    atEnd: (bits & NOT_AT_END) === 0,
  };
  const result = await compute({ verb: 'trim-extend', geometries, by, extension, ...inPlane(crs) });
  return listAnswer(result.geometries, crs, geometries);
}

async function autoComplete(compute: Compute, members: Members) {
  const crs = requireReference(members, 'sr');
  const geometries = ofType(geometriesOf(members, 'polygons'), 'polygons', 'MultiPolygon');
  const others = ofType(geometriesOf(members, 'polylines'), 'polylines', 'MultiLineString');
  const result = await compute({ verb: 'complete', geometries, others, ...inPlane(crs) });
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
