import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { pythonOfClients } from './python.js';

// biome-ignore lint/suspicious/noExplicitAny: documents are looked into
export type Json = any;

export const GEOMETRY_SERVER = '/rest/services/Utilities/Geometry/GeometryServer';

/** Asked by POST: objects become JSON. */
export async function askGeometryServer(
  url: string,
  operation: string,
  members: Record<string, unknown>,
): Promise<Json> {
  const form = Object.entries(members).map(([name, value]): [string, string] => [
    name,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
  ]);
  const body = new URLSearchParams([['f', 'json'], ...form]);
  const response = await fetch(`${url}${GEOMETRY_SERVER}/${operation}`, { method: 'POST', body });
  expect(response.status).toBe(200);
  return response.json();
}

/** What an expression of Shapely or PROJ says of `given`: JSON in and out. */
export function python(expression: string, given: unknown): Json {
  const program = [
    'import json, sys, shapely, pyproj',
    'from shapely import wkt, ops, LineString, MultiLineString, Polygon, Point',
    'given = json.load(sys.stdin)',
    `json.dump(${expression}, sys.stdout)`,
  ].join('\n');
  return JSON.parse(
    execFileSync(pythonOfClients(), ['-c', program], { input: JSON.stringify(given) }).toString(),
  );
}

export const polyline = (...paths: number[][][]) => ({ paths });
export const polygon = (...rings: number[][][]) => ({ rings });

/** A square, clockwise. */
export const square = (x: number, y: number, side: number) =>
  polygon([
    [x, y],
    [x, y + side],
    [x + side, y + side],
    [x + side, y],
    [x, y],
  ]);
