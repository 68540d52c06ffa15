import type { Geometry, Position } from 'geojson';
import { GEOJSON_GEOMETRIES } from '../geometry/geojson-types.js';
import type { BoxLiteral, GeometryLiteral } from './ast.js';
import type { Tokens } from './parse/tokens.js';

/** Spatial literals of CQL2 text: well-known text with optional Z, and BBOX. Coordinates keep their text. */

const TYPES = new Map<string, Geometry['type']>(GEOJSON_GEOMETRIES.map((type) => [type.toLowerCase(), type]));

/** The geometry type that a word names when a parenthesis follows: `POINT(`, `POINT Z (`, `POINTZ(`. */
export function geometryAhead(tokens: Tokens): Geometry['type'] | undefined {
  const { kind, text } = tokens.peek();
  if (kind !== 'word') return undefined;
  const word = text.toLowerCase();
  if (tokens.sees('(', 1)) return TYPES.get(word) ?? TYPES.get(word.replace(/z$/, ''));
  return tokens.sees('z', 1) && tokens.sees('(', 2) ? TYPES.get(word) : undefined;
}

/** Rule `spatialInstance`, after `geometryAhead` has found its type. */
export function geometry(tokens: Tokens, type: Geometry['type']): GeometryLiteral {
  const hasZ = tokens.take().text.toLowerCase().endsWith('z') || tokens.accept('z');
  tokens.expect('(');
  if (type === 'GeometryCollection') return { type, geometries: tokens.list(() => member(tokens)) };
  return { type, coordinates: coordinates(tokens, type, hasZ) } as GeometryLiteral;
}

function member(tokens: Tokens): Geometry {
  const type = geometryAhead(tokens);
  if (!type || type === 'GeometryCollection') return tokens.fail('a geometry');
  return geometry(tokens, type);
}

/** Content of parentheses, after the opening one. */
function coordinates(tokens: Tokens, type: Geometry['type'], hasZ: boolean): unknown {
  const line = () => tokens.list(() => position(tokens, hasZ));
  const opened = <T>(rule: () => T) => {
    tokens.expect('(');
    return rule();
  };
  const lines = () => tokens.list(() => opened(line));
  switch (type) {
    case 'Point': {
      const point = position(tokens, hasZ);
      tokens.expect(')');
      return point;
    }
    case 'LineString':
      return line();
    case 'MultiPoint':
      return tokens.list(() => memberPoint(tokens, hasZ));
    case 'Polygon':
    case 'MultiLineString':
      return lines();
    default:
      return tokens.list(() => opened(lines));
  }
}

/** Points of a MultiPoint are written with and without parentheses. */
function memberPoint(tokens: Tokens, hasZ: boolean): Position {
  const enclosed = tokens.accept('(');
  const point = position(tokens, hasZ);
  if (enclosed) tokens.expect(')');
  return point;
}

function position(tokens: Tokens, hasZ: boolean): Position {
  const [x, y] = [tokens.coordinate(), tokens.coordinate()];
  const more = tokens.peek().kind === 'number' || tokens.sees('-') || tokens.sees('+');
  return hasZ || more ? [x, y, tokens.coordinate()] : [x, y];
}

/** Rule `bboxTaggedText`: four or six numbers. */
export function box(tokens: Tokens): BoxLiteral {
  tokens.take();
  tokens.expect('(');
  const bbox = [tokens.coordinate()];
  while (bbox.length < 6 && tokens.accept(',')) bbox.push(tokens.coordinate());
  if (bbox.length !== 4 && bbox.length !== 6) tokens.fail("','");
  tokens.expect(')');
  return { bbox };
}
