/** What a GeometryServer has a worker compute. Geometries are GeoJSON in x,y, without heights. */
import type { Geometry } from 'geojson';
import type { GeometryOperation } from './geometry-operations.js';

interface Common {
  geometries: Geometry[];
  /** CRS of the geometries, that in which it is computed, and that of the answer; anything PROJ reads. */
  from: string;
  plane: string;
  target: string;
}

export type GeometryServiceTask = Common &
  (
    | { verb: 'each'; operations: GeometryOperation[]; union?: boolean }
    | { verb: 'hull' }
    | { verb: 'union' }
    | { verb: 'clip' | 'subtract'; by: Geometry }
    | { verb: 'measure'; ground: boolean }
    | { verb: 'distance'; by: Geometry; ground: boolean }
  );

export interface GeometryServiceResult {
  /** Null for an empty one. */
  geometries: (Geometry | null)[];
  /** Area, perimeter and length of each geometry, in units of the plane or metres; of a distance the number alone. */
  measures: { area: number; perimeter: number; length: number }[];
  distance?: number;
}
