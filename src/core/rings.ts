import type { Position } from 'geojson';

/** Rings as GeoServices write polygons: exteriors run clockwise, holes counterclockwise, in any order. */

/** The polygons that closed rings make. A hole belongs to the smallest exterior that it lies in, and is one itself where there is none. */
export function polygonsOf(rings: readonly Position[][]): Position[][][] {
  const exteriors = rings
    .filter((ring) => area(ring) <= 0)
    .map((ring) => ({ size: -area(ring), rings: [ring] }));
  const bySize = [...exteriors].sort((a, b) => a.size - b.size);
  const polygons = exteriors.map((one) => one.rings);
  for (const hole of rings.filter((ring) => area(ring) > 0)) {
    const around = bySize.find(
      ({ size, rings: [exterior] }) => size >= area(hole) && hole.some((at) => contains(exterior!, at)),
    );
    if (around) around.rings.push(hole);
    else polygons.push([hole]);
  }
  return polygons;
}

/** Twice the signed area; negative for clockwise rings. */
function area(ring: readonly Position[]): number {
  let sum = 0;
  for (let i = 1; i < ring.length; i++)
    sum += ring[i - 1]![0]! * ring[i]![1]! - ring[i]![0]! * ring[i - 1]![1]!;
  return sum;
}

function contains(ring: readonly Position[], [x, y]: Position): boolean {
  let inside = false;
  for (let i = 1; i < ring.length; i++) {
    const [ax, ay] = ring[i - 1]! as [number, number];
    const [bx, by] = ring[i]! as [number, number];
    if (ay > y! !== by > y! && x! < ax + ((y! - ay) / (by - ay)) * (bx - ax)) inside = !inside;
  }
  return inside;
}
