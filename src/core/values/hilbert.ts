/** Id of a tile in a PMTiles archive (version 3, 4.1): those of all lower zooms come first. Row 0 is at the top. */
export function pmtilesId(zoom: number, row: number, column: number): number {
  return (4 ** zoom - 1) / 3 + hilbertIndex(zoom, column, row);
}

/**
 * Position of a cell on the Hilbert curve through a square with 2^order cells on each side. The cells of an aligned
 * block with sides of 2^n cells are consecutive, and the blocks themselves follow the curve of order - n. Exact up to
 * order 26.
 */
export function hilbertIndex(order: number, column: number, row: number): number {
  let index = 0;
  let x = column;
  let y = row;
  for (let side = 2 ** (order - 1); side >= 1; side /= 2) {
    const right = Math.floor(x / side) % 2;
    const down = Math.floor(y / side) % 2;
    index += side * side * ((3 * right) ^ down);
    x %= side;
    y %= side;
    if (down === 1) continue;
    if (right === 1) {
      x = side - 1 - x;
      y = side - 1 - y;
    }
    [x, y] = [y, x];
  }
  return index;
}
