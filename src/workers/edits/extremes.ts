const [POINT, LINE_STRING, POLYGON] = [1, 2, 3];
const DIMENSION = 1000;

/**
 * Returns the positions of a geometry that are farthest to each side, as x,y pairs: one for each side. Empty for
 * empty geometries.
 */
export function extremePositions(wkb: Uint8Array): Float64Array {
  const extremes = new Extremes();
  eachPosition(wkb, (x, y) => extremes.add(x, y));
  return extremes.positions;
}

/** Returns the number of positions of a geometry. An empty point has one, without numbers. */
export function positionCount(wkb: Uint8Array): number {
  let count = 0;
  eachPosition(wkb, () => count++);
  return count;
}

/** Reads ISO WKB (OGC 06-103r4, 8.2) in little-endian order, as our reader of GeoJSON writes it. */
function eachPosition(wkb: Uint8Array, visit: (x: number, y: number) => void): void {
  const view = new DataView(wkb.buffer, wkb.byteOffset, wkb.byteLength);
  let at = 0;
  const count = () => {
    at += 4;
    return view.getUint32(at - 4, true);
  };
  // The parts of a collection follow its header, so the nesting depth does not matter.
  for (let geometries = 1; geometries > 0; geometries--) {
    const type = view.getUint32(at + 1, true);
    at += 5;
    const step = type >= DIMENSION ? 24 : 16;
    const positions = (n: number) => {
      for (let i = 0; i < n; i++, at += step) visit(view.getFloat64(at, true), view.getFloat64(at + 8, true));
    };
    switch (type % DIMENSION) {
      case POINT:
        positions(1);
        break;
      case LINE_STRING:
        positions(count());
        break;
      case POLYGON:
        for (let rings = count(); rings > 0; rings--) positions(count());
        break;
      default:
        geometries += count();
    }
  }
}

class Extremes {
  #sides: [number, number][] = [];

  add(x: number, y: number): void {
    // An empty point has no numbers.
    if (Number.isNaN(x) && Number.isNaN(y)) return;
    const [west, south, east, north] = this.#sides;
    if (!west) {
      this.#sides = Array.from({ length: 4 }, () => [x, y]);
      return;
    }
    if (x < west[0]) this.#sides[0] = [x, y];
    if (y < south![1]) this.#sides[1] = [x, y];
    if (x > east![0]) this.#sides[2] = [x, y];
    if (y > north![1]) this.#sides[3] = [x, y];
  }

  get positions(): Float64Array {
    return Float64Array.from(this.#sides.flat());
  }
}
