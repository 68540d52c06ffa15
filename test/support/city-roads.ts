import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { NetworkEdge } from '../../src/core/networks/networks.js';

interface RoadLine {
  geometry: { type: string; coordinates: [number, number][] };
  properties: { oneway?: string };
}

/** The number of lines that use each point, where the ends of a line count twice. */
function countUses(lines: readonly RoadLine[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const { geometry } of lines) {
    const last = geometry.coordinates.length - 1;
    geometry.coordinates.forEach((point, i) => {
      uses.set(String(point), (uses.get(String(point)) ?? 0) + (i === 0 || i === last ? 2 : 1));
    });
  }
  return uses;
}

const MILLIMETRES_PER_DEGREE = 111_195_000;

/** Length in whole millimetres, about, so that sums of lengths are exact. */
function measure(points: readonly [number, number][]): number {
  let sum = 0;
  for (let i = 1; i < points.length; i++) {
    const [x, y] = points[i]!;
    const [beforeX, beforeY] = points[i - 1]!;
    sum += Math.hypot((x - beforeX) * Math.cos((y * Math.PI) / 180), y - beforeY);
  }
  return Math.round(sum * MILLIMETRES_PER_DEGREE);
}

/** Roads and paths of Goteborg from OpenStreetMap (ODbL), split at their crossings. Their costs are lengths. */
export function readCityRoads(): NetworkEdge[] {
  const path = createRequire(import.meta.url).resolve('geojson-path-finder/package.json');
  const file = path.replace('package.json', 'test/large-network.json');
  const { features } = JSON.parse(readFileSync(file, 'utf8')) as { features: RoadLine[] };
  const lines = features.filter(({ geometry }) => geometry.type === 'LineString');
  const uses = countUses(lines);
  const edges: NetworkEdge[] = [];
  for (const { geometry, properties } of lines) {
    let points: [number, number][] = [geometry.coordinates[0]!];
    for (const point of geometry.coordinates.slice(1)) {
      points.push(point);
      if (uses.get(String(point))! > 1) {
        const cost = measure(points);
        edges.push({
          id: String(edges.length),
          source: String(points[0]),
          target: String(point),
          cost: properties.oneway === '-1' ? -1 : cost,
          reverseCost: properties.oneway === 'yes' ? -1 : cost,
          points: points.flat(),
        });
        points = [point];
      }
    }
  }
  return edges;
}
