import { createBoxRing } from '../../geometry/box.js';
import { Untranslatable } from './export/untranslatable.js';
import type { SldContext } from './import/context.js';
import { all, asNumber, elements, findChild, readTextContent, type XmlElement } from './import/xml.js';
import type { Expr } from './values.js';

const WITHIN = new Set(['BBOX', 'Intersects', 'Within', 'Disjoint']);
const OTHERS = new Set(['Contains', 'Crosses', 'Overlaps', 'Touches', 'Equals', 'DWithin', 'Beyond']);

export function isSpatial(name: string): boolean {
  return WITHIN.has(name) || OTHERS.has(name);
}

/** MapLibre tests whether a feature lies within an area, of points and lines only. @throws Untranslatable */
export function spatial(node: XmlElement, context: SldContext): Expr {
  const { name } = node;
  const { geometryType: type, places = true } = context.target;
  if (!places) throw new Untranslatable(name, 'Conditions of place cannot be drawn by this server.');
  if (!WITHIN.has(name)) throw new Untranslatable(name, `There is no counterpart of ${name}.`);
  if (type === 'Polygon' || type === 'MultiPolygon') {
    throw new Untranslatable(name, 'Spatial conditions are for points and lines only.');
  }
  if (name !== 'Within' && type !== 'Point' && type !== 'MultiPoint') {
    context.report.warn(name, 'Only features that lie wholly within the area count.');
  }
  const within: Expr = ['within', parseArea(node)];
  return name === 'Disjoint' ? ['!', within] : within;
}

type Position = [number, number];

interface Area {
  readonly type: 'Polygon' | 'MultiPolygon';
  readonly coordinates: readonly unknown[];
}

/** GeoJSON of the geometry of a condition; degrees, longitude first. */
function parseArea(condition: XmlElement): Area & Record<string, unknown> {
  const geometry = elements(condition).find(({ name }) => READERS.has(name));
  const area = geometry && READERS.get(geometry.name)!(geometry, flips(geometry));
  if (!area) throw new Untranslatable(condition.name, 'Its geometry is neither a box nor an area.');
  return { ...area };
}

const READERS: ReadonlyMap<string, (node: XmlElement, flipped: boolean) => Area> = new Map([
  ['Envelope', box],
  ['Box', box],
  ['Polygon', polygon],
  ['MultiPolygon', multiPolygon],
  ['MultiSurface', multiPolygon],
]);

/** Only degrees can be read; `urn:` names of EPSG:4326 have latitude first. */
function flips(geometry: XmlElement): boolean {
  const crs = geometry.attributes['srsName'] ?? '';
  if (crs === '' || /CRS:?84$/i.test(crs) || /^EPSG:4326$|epsg\.xml#4326$/i.test(crs)) return false;
  if (/^(?:urn:.*:EPSG:.*:|https?:.*\/EPSG\/.*\/)4326$/i.test(crs.slice(0, 100))) return true;
  throw new Untranslatable(geometry.name, `Positions in ${crs.slice(0, 60)} cannot be read here.`);
}

function box(node: XmlElement, flipped: boolean): Area {
  const corners = ['lowerCorner', 'upperCorner']
    .map((name) => findChild(node, name))
    .filter((one) => one !== undefined);
  const places =
    corners.length === 2 ? corners.flatMap((one) => positions(one, flipped)) : readPositions(node, flipped);
  const [low, high] = places;
  if (!low || !high) throw new Untranslatable(node.name, 'A box has two corners.');
  const [w, s, e, n] = [...low, ...high] as const;
  return { type: 'Polygon', coordinates: [createBoxRing([w!, s!, e!, n!])] };
}

function polygon(node: XmlElement, flipped: boolean): Area {
  const rings = elements(node).map((boundary) => {
    const ring = readPositions(findChild(boundary, 'LinearRing') ?? boundary, flipped);
    const [first, last] = [ring[0], ring.at(-1)];
    if (!first || ring.length < 4 || first[0] !== last![0] || first[1] !== last![1]) {
      throw new Untranslatable(node.name, 'A ring is closed and has four positions at least.');
    }
    return ring;
  });
  if (rings.length === 0) throw new Untranslatable(node.name, 'The polygon is empty.');
  return { type: 'Polygon', coordinates: rings };
}

function multiPolygon(node: XmlElement, flipped: boolean): Area {
  const members = elements(node).flatMap((member) => all(member, 'Polygon'));
  if (members.length === 0) throw new Untranslatable(node.name, 'There are no polygons.');
  return { type: 'MultiPolygon', coordinates: members.map((one) => polygon(one, flipped).coordinates) };
}

/** `posList`, several `pos`, `coordinates` of GML 2 or its `coord`. */
function readPositions(node: XmlElement, flipped: boolean): Position[] {
  return elements(node).flatMap((part) => {
    if (part.name !== 'coord') return positions(part, flipped);
    const pair = ['X', 'Y'].map((axis) => readTextContent(findChild(part, axis)) ?? '').join(' ');
    return positions({ ...part, content: [pair] }, flipped);
  });
}

function positions(node: XmlElement, flipped: boolean): Position[] {
  const numbers = (readTextContent(node) ?? '').split(/[\s,]+/).map((text) => asNumber(text) ?? Number.NaN);
  const dimension = Number(node.attributes['srsDimension'] ?? 2) === 3 ? 3 : 2;
  if (numbers.length % dimension !== 0 || numbers.some(Number.isNaN)) {
    throw new Untranslatable(node.name, 'Its positions cannot be read.');
  }
  const places: Position[] = [];
  for (let i = 0; i < numbers.length; i += dimension) {
    const [a, b] = [numbers[i]!, numbers[i + 1]!];
    places.push(flipped ? [b, a] : [a, b]);
  }
  return places;
}
