import type { Geometry, Position } from 'geojson';
import type { Crs } from '../geometry/crs.js';
import { LIMITS } from '../kit/limits.js';
import type { BoxLiteral, GeometryLiteral } from './ast.js';
import { Cql2Error } from './error.js';

/** A little more than 90: rounding must not refuse the poles. */
const MAX_LATITUDE = 90.000001;

/** Puts spatial literals into x,y order and names their CRS; counts the positions of one filter. */
export class SpatialLiterals {
  #count = 0;

  constructor(readonly crs: Crs) {}

  geometry(literal: GeometryLiteral): GeometryLiteral {
    return literal.crs ? literal : { ...this.#ordered(literal), crs: this.crs.proj };
  }

  box(literal: BoxLiteral): BoxLiteral {
    if (literal.crs) return literal;
    const { bbox } = literal;
    const half = bbox.length / 2;
    const ordered = [...this.#position(bbox.slice(0, half)), ...this.#position(bbox.slice(half))];
    if (ordered[1]! > ordered[half + 1]!)
      throw new Cql2Error('a BBOX has its lower corner above its upper corner');
    // Only longitudes wrap: minx > maxx is a box across the antimeridian there, a mistake elsewhere.
    if (ordered[0]! > ordered[half]! && !this.crs.geographic)
      throw new Cql2Error('a BBOX has its left edge right of its right edge');
    return { bbox: ordered, crs: this.crs.proj };
  }

  #ordered(geometry: Geometry): Geometry {
    switch (geometry.type) {
      case 'Point':
        return { type: 'Point', coordinates: this.#position(geometry.coordinates) };
      case 'MultiPoint':
        return { type: 'MultiPoint', coordinates: this.#series(geometry.coordinates) };
      case 'LineString':
        return { type: 'LineString', coordinates: this.#line(geometry.coordinates) };
      case 'MultiLineString':
        return { type: 'MultiLineString', coordinates: geometry.coordinates.map((line) => this.#line(line)) };
      case 'Polygon':
        return { type: 'Polygon', coordinates: geometry.coordinates.map((ring) => this.#ring(ring)) };
      case 'MultiPolygon':
        return {
          type: 'MultiPolygon',
          coordinates: geometry.coordinates.map((polygon) => polygon.map((ring) => this.#ring(ring))),
        };
      case 'GeometryCollection':
        return {
          type: 'GeometryCollection',
          geometries: geometry.geometries.map((member) => this.#ordered(member)),
        };
    }
  }

  #line(positions: readonly Position[]): Position[] {
    if (positions.length < 2) throw new Cql2Error('a line string needs at least two positions');
    return this.#series(positions);
  }

  #ring(positions: readonly Position[]): Position[] {
    if (positions.length < 4) throw new Cql2Error('the ring of a polygon needs at least four positions');
    const [first, last] = [positions[0]!, positions.at(-1)!];
    if (first.some((value, i) => value !== last[i]))
      throw new Cql2Error('the ring of a polygon is not closed: its last position must be its first');
    return this.#series(positions);
  }

  #series(positions: readonly Position[]): Position[] {
    const dimension = positions[0]?.length;
    if (positions.some((position) => position.length !== dimension))
      throw new Cql2Error('the positions of a geometry must all have a height, or none');
    return positions.map((position) => this.#position(position));
  }

  #position(position: readonly number[]): Position {
    if (++this.#count > LIMITS.filterPositions)
      throw new Cql2Error(`the geometries of the filter have more than ${LIMITS.filterPositions} positions`);
    const [first, second, ...height] = position as [number, number];
    const [x, y] = this.crs.northFirst ? [second, first] : [first, second];
    if (this.crs.geographic && Math.abs(y) > MAX_LATITUDE)
      throw new Cql2Error(`the latitude ${y} is outside -90 to 90 (axis order of ${this.crs.uri})`);
    return [x, y, ...height];
  }
}
