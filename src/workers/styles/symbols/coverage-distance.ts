/** Distance beyond all distances in an image. */
const FAR = 1e20;

/**
 * Returns signed distances, in pixels and negative inside, from the outline of the covered area of an image.
 * `coverage` has 0 to 255 for each pixel. Partly covered pixels state the position of the outline within them, and an
 * outline between pixels is half a pixel too far from both. Transform of squared distances, columns first, then rows
 * (Felzenszwalb and Huttenlocher 2012).
 */
export function signedDistances(coverage: Uint8Array, width: number, height: number): Float64Array {
  const outer = new Float64Array(coverage.length);
  const inner = new Float64Array(coverage.length);
  for (let i = 0; i < coverage.length; i++) {
    const share = coverage[i]! / 255;
    const over = share - 0.5;
    outer[i] = share === 1 ? 0 : share === 0 ? FAR : Math.max(0, -over) ** 2;
    inner[i] = share === 0 ? 0 : share === 1 ? FAR : Math.max(0, over) ** 2;
  }
  spread(outer, width, height);
  spread(inner, width, height);
  return outer.map((square, i) => Math.sqrt(square) - Math.sqrt(inner[i]!));
}

function spread(squares: Float64Array, width: number, height: number): void {
  const line = new LineTransform(Math.max(width, height));
  for (let x = 0; x < width; x++) line.run(squares, x, width, height);
  for (let y = 0; y < height; y++) line.run(squares, y * width, 1, width);
}

/** The transform of one row or column: lower envelope of parabolas. */
class LineTransform {
  readonly #values: Float64Array;
  readonly #tops: Int32Array;
  readonly #borders: Float64Array;

  constructor(length: number) {
    this.#values = new Float64Array(length);
    this.#tops = new Int32Array(length);
    this.#borders = new Float64Array(length + 1);
  }

  run(squares: Float64Array, start: number, stride: number, length: number): void {
    const values = this.#values;
    for (let i = 0; i < length; i++) values[i] = squares[start + i * stride]!;
    this.#envelope(length);
    let k = 0;
    for (let i = 0; i < length; i++) {
      while (this.#borders[k + 1]! < i) k++;
      const top = this.#tops[k]!;
      squares[start + i * stride] = values[top]! + (i - top) ** 2;
    }
  }

  #envelope(length: number): void {
    const [values, tops, borders] = [this.#values, this.#tops, this.#borders];
    let k = 0;
    tops[0] = 0;
    borders[0] = -FAR;
    borders[1] = FAR;
    for (let i = 1; i < length; i++) {
      let border = crossing(values, tops[k]!, i);
      // No intersection is as far outside as the first border.
      while (border <= borders[k]!) border = crossing(values, tops[--k]!, i);
      k++;
      tops[k] = i;
      borders[k] = border;
      borders[k + 1] = FAR;
    }
  }
}

/** Returns the intersection of the parabolas over a and b. */
function crossing(values: Float64Array, a: number, b: number): number {
  return (values[b]! - values[a]! + b * b - a * a) / (2 * (b - a));
}
