import { WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';

const DPI = 96;
/** As in Esri clients; an inch of 0.0254 m is two millionths longer. */
const INCHES_PER_METRE = 39.37;

/** The denominator of the scale at which a pixel is that many metres. */
export function resolutionToScale(metres: number, dpi = DPI): number {
  return metres * dpi * INCHES_PER_METRE;
}

/** Tiles of WebMercatorQuad as Esri's clients read them; `size` is the pixels of a side. */
export function tileInfo(format: string, size = 256) {
  const { origin } = WEB_MERCATOR_QUAD.matrices[0]!;
  return {
    rows: size,
    cols: size,
    dpi: DPI,
    format,
    compressionQuality: 0,
    origin: { x: origin[0], y: origin[1] },
    spatialReference: { wkid: 102_100, latestWkid: 3857 },
    lods: WEB_MERCATOR_QUAD.matrices.map(({ cellSize }, level) => {
      const resolution = (cellSize * 256) / size;
      return { level, resolution, scale: resolutionToScale(resolution) };
    }),
  };
}
