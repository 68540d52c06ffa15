import { CRS84, type Crs } from '../../geometry/crs.js';
import {
  METRES_PER_DEGREE,
  PIXEL_METRES,
  scaleToLevel,
  type TileMatrix,
  type TileMatrixSet,
  type VariableWidth,
} from './matrix.js';

/**
 * Tile matrix sets that are built in: those of OGC's register (17-083r4, annex D), and one of Land Information New
 * Zealand. Sides of quadtrees are kept with all their digits, where the register rounds its cell sizes, so that the
 * tiles of one matrix meet those of the next.
 */

const OGC_SETS = 'http://www.opengis.net/def/tilematrixset/OGC/1.0';
const SCALE_SETS = 'http://www.opengis.net/def/wkss/OGC/1.0';
const WEB_MERCATOR_HALF = 20037508.342789244;
const TILE_CELLS = 256;

function epsg(code: number, northFirst = false, geographic = false): Crs {
  return {
    uri: `http://www.opengis.net/def/crs/EPSG/0/${code}`,
    proj: `EPSG:${code}`,
    epsg: code,
    northFirst,
    geographic,
  };
}

export const WEB_MERCATOR: Crs = epsg(3857);
const WGS84 = epsg(4326, true, true);

interface About {
  id: string;
  title: string;
  crs: Crs;
  orderedAxes: readonly [string, string];
  uri?: string | undefined;
  wellKnownScaleSet?: string;
}

/** Creates a set from its matrices, smallest scale first. */
export function matrixSet(
  about: Omit<TileMatrixSet, 'matrices' | 'places'>,
  matrices: readonly TileMatrix[],
): TileMatrixSet {
  return { ...about, matrices, places: new Map(matrices.map(({ id }, place) => [id, place])) };
}

const registered = (about: About, matrices: readonly TileMatrix[]) =>
  matrixSet(
    { key: about.id, uri: `${OGC_SETS}/${about.id}`, crsDocument: about.crs.uri, ...about },
    matrices,
  );

interface Grid {
  cellSize: number;
  origin: readonly [number, number];
  matrixWidth: number;
  matrixHeight: number;
  scaleDenominator?: number;
  tileSide?: number;
  variableWidths?: readonly VariableWidth[];
}

function tileMatrix(id: string, crs: Crs, grid: Grid): TileMatrix {
  const { cellSize, origin, matrixWidth, matrixHeight, tileSide = TILE_CELLS, variableWidths = [] } = grid;
  const unit = crs.geographic ? METRES_PER_DEGREE : 1;
  const scaleDenominator = grid.scaleDenominator ?? (cellSize * unit) / PIXEL_METRES;
  return {
    id,
    scaleDenominator,
    cellSize,
    cornerOfOrigin: 'topLeft',
    origin,
    tileWidth: tileSide,
    tileHeight: tileSide,
    matrixWidth,
    matrixHeight,
    variableWidths,
    level: scaleToLevel(scaleDenominator),
  };
}

interface Quadtree {
  /** Top left corner, x,y ordered. */
  origin: readonly [number, number];
  /** Side of a tile of the first matrix, in units of the CRS. */
  side: number;
  /** Columns and rows of the first matrix. */
  size?: readonly [number, number];
  /** Identifiers of the first and the last matrix. */
  zooms: readonly [number, number];
}

/** Matrices of which each halves the cells of the one before. */
function quadtree(
  about: About,
  { origin, side, size: [width, height] = [1, 1], zooms }: Quadtree,
): TileMatrixSet {
  const [first, last] = zooms;
  const matrices = Array.from({ length: last - first + 1 }, (_, i) =>
    tileMatrix(String(first + i), about.crs, {
      cellSize: side / TILE_CELLS / 2 ** i,
      origin,
      matrixWidth: width * 2 ** i,
      matrixHeight: height * 2 ** i,
    }),
  );
  return registered(about, matrices);
}

export const WEB_MERCATOR_QUAD = quadtree(
  {
    id: 'WebMercatorQuad',
    title: 'Google Maps Compatible for the World',
    crs: WEB_MERCATOR,
    orderedAxes: ['X', 'Y'],
    wellKnownScaleSet: `${SCALE_SETS}/GoogleMapsCompatible`,
  },
  { origin: [-WEB_MERCATOR_HALF, WEB_MERCATOR_HALF], side: WEB_MERCATOR_HALF * 2, zooms: [0, 24] },
);

const WORLD_DEGREES = { origin: [-180, 90], side: 180, size: [2, 1], zooms: [0, 23] } as const;

export const WORLD_CRS84_QUAD = quadtree(
  {
    id: 'WorldCRS84Quad',
    title: 'CRS84 for the World',
    crs: CRS84,
    orderedAxes: ['Lon', 'Lat'],
    wellKnownScaleSet: `${SCALE_SETS}/GoogleCRS84Quad`,
  },
  WORLD_DEGREES,
);

const WGS1984_QUAD = quadtree(
  {
    id: 'WGS1984Quad',
    // The register knows it as an example only.
    uri: undefined,
    title: 'EPSG:4326 for the World',
    crs: WGS84,
    orderedAxes: ['Lat', 'Lon'],
    wellKnownScaleSet: `${SCALE_SETS}/GoogleCRS84Quad`,
  },
  WORLD_DEGREES,
);

const WORLD_MERCATOR_QUAD = quadtree(
  {
    id: 'WorldMercatorWGS84Quad',
    title: 'World Mercator WGS84 (ellipsoid)',
    crs: epsg(3395),
    orderedAxes: ['E', 'N'],
    wellKnownScaleSet: `${SCALE_SETS}/WorldMercatorWGS84`,
  },
  { origin: [-WEB_MERCATOR_HALF, WEB_MERCATOR_HALF], side: WEB_MERCATOR_HALF * 2, zooms: [0, 24] },
);

const EUROPEAN_QUAD = quadtree(
  {
    id: 'EuropeanETRS89_LAEAQuad',
    title: 'Lambert Azimuthal Equal Area ETRS89 for Europe',
    crs: epsg(3035, true),
    orderedAxes: ['Y', 'X'],
  },
  { origin: [2_000_000, 5_500_000], side: 4_500_000, zooms: [0, 15] },
);

/** Distance from the pole to the side of the square, in metres. */
const UPS_HALF = 16440759.350252;
const UPS_POLE = 2_000_000;

function polarQuad(id: string, pole: string, code: number): TileMatrixSet {
  return quadtree(
    {
      id,
      title: `Universal Polar Stereographic WGS 84 Quad for ${pole}`,
      crs: epsg(code),
      orderedAxes: ['E', 'N'],
    },
    { origin: [UPS_POLE - UPS_HALF, UPS_POLE + UPS_HALF], side: 2 * UPS_HALF, zooms: [0, 24] },
  );
}

/** From the equator to the pole along the central meridian, in metres: half of a tile of the first matrix. */
const UTM_HALF = 10001965.72931276;

/** Zone 1 to 60; the first matrix, of identifier 1, is two tiles high. */
function utmQuad(zone: number): TileMatrixSet {
  return quadtree(
    {
      id: `UTM${String(zone).padStart(2, '0')}WGS84Quad`,
      title: `Universal Transverse Mercator Zone ${zone} WGS84 Quad`,
      crs: epsg(32600 + zone),
      orderedAxes: ['E', 'N'],
    },
    { origin: [500_000 - UTM_HALF, 2 * UTM_HALF], side: 2 * UTM_HALF, size: [1, 2], zooms: [1, 24] },
  );
}

/** Scale denominator, columns, rows. */
const CANADIAN_MATRICES = [
  [145_000_000, 5, 5],
  [85_000_000, 8, 8],
  [50_000_000, 13, 14],
  [30_000_000, 21, 22],
  [17_500_000, 36, 38],
  [10_000_000, 62, 66],
  [6_000_000, 103, 110],
  [3_500_000, 177, 188],
  [2_000_000, 309, 329],
  [1_200_000, 515, 548],
  [700_000, 882, 938],
  [420_000, 1470, 1563],
  [250_000, 2469, 2626],
  [145_000, 4257, 4528],
  [85_000, 7262, 7723],
  [50_000, 12_344, 13_130],
  [30_000, 20_574, 21_882],
  [17_500, 35_269, 37_512],
  [10_000, 61_720, 65_646],
  [6_000, 102_866, 109_409],
  [3_500, 176_341, 187_558],
  [2_000, 308_596, 328_227],
  [1_200, 514_327, 547_044],
  [700, 881_703, 937_790],
  [420, 1_469_505, 1_562_983],
  [250, 2_468_768, 2_625_811],
] as const;
/** Only this set computes scale denominators from pixels of 1/96 inch, with 39.37 inches to the metre. */
const CANADIAN_PIXEL_METRES = 1 / 96 / 39.37;

function canadianSet(): TileMatrixSet {
  const crs = epsg(3978);
  const matrices = CANADIAN_MATRICES.map(([scaleDenominator, matrixWidth, matrixHeight], i) =>
    tileMatrix(String(i), crs, {
      scaleDenominator,
      cellSize: scaleDenominator * CANADIAN_PIXEL_METRES,
      origin: [-34_655_800, 39_310_000],
      matrixWidth,
      matrixHeight,
    }),
  );
  return registered(
    {
      id: 'CanadianNAD83_LCC',
      title: 'Lambert conformal conic NAD83 for Canada',
      crs,
      orderedAxes: ['E', 'N'],
    },
    matrices,
  );
}

/** From the pole of row 0 to the other one: the factor of each band of rows, counted from the nearer pole. */
function mirrored(
  bands: readonly (readonly [coalesce: number, rows: number])[],
  height: number,
): VariableWidth[] {
  const north: VariableWidth[] = [];
  let row = 0;
  for (const [coalesce, rows] of bands) {
    north.push({ coalesce, minTileRow: row, maxTileRow: row + rows - 1 });
    row += rows;
  }
  const south = north.map(({ coalesce, minTileRow, maxTileRow }) => ({
    coalesce,
    minTileRow: height - 1 - maxTileRow,
    maxTileRow: height - 1 - minTileRow,
  }));
  return [...north, ...south.reverse()];
}

/** Tiles of like area: at a pole four tiles remain, and each band doubles its tiles and its rows. */
function gnosisGrid(): TileMatrixSet {
  const matrices = Array.from({ length: 29 }, (_, zoom) => {
    const bands = Array.from(
      { length: zoom },
      (__, i) => [2 ** (zoom - i), i === 0 ? 1 : 2 ** (i - 1)] as const,
    );
    const matrixHeight = 2 * 2 ** zoom;
    return tileMatrix(String(zoom), WGS84, {
      cellSize: 90 / TILE_CELLS / 2 ** zoom,
      origin: [-180, 90],
      matrixWidth: 4 * 2 ** zoom,
      matrixHeight,
      variableWidths: mirrored(bands, matrixHeight),
    });
  });
  return registered(
    {
      id: 'GNOSISGlobalGrid',
      title: 'GNOSIS Global Grid',
      crs: WGS84,
      orderedAxes: ['Lat', 'Lon'],
      wellKnownScaleSet: `${SCALE_SETS}/GoogleCRS84Quad`,
    },
    matrices,
  );
}

/** Tile width in degrees of longitude, and the band of latitudes, counted from the pole, for which it applies. */
const CDB_ZONES = [
  [12, 1],
  [6, 9],
  [4, 5],
  [3, 5],
  [2, 20],
] as const;

/** Levels -10 to 0 have tiles of one degree and more and more cells; from there on tiles are halved. */
function cdbGrid(): TileMatrixSet {
  const matrices = Array.from({ length: 32 }, (_, i) => {
    const level = i - 10;
    const split = 2 ** Math.max(level, 0);
    const tileSide = 1024 * 2 ** Math.min(level, 0);
    return tileMatrix(String(level), WGS84, {
      cellSize: 1 / split / tileSide,
      tileSide,
      origin: [-180, 90],
      matrixWidth: 360 * split,
      matrixHeight: 180 * split,
      variableWidths: mirrored(
        CDB_ZONES.map(([degrees, rows]) => [degrees, rows * split]),
        180 * split,
      ),
    });
  });
  return registered(
    { id: 'CDB1GlobalGrid', title: 'CDB 1 Global Grid', crs: WGS84, orderedAxes: ['Lat', 'Lon'] },
    matrices,
  );
}

const LINZ_COUNTS = [1, 1, 2, 4, 7, 13, 26, 52, 104, 207, 413, 826, 1652, 3303];

function linzAntarctica(): TileMatrixSet {
  const crs = epsg(5482, true);
  const matrices = LINZ_COUNTS.map((count, i) =>
    tileMatrix(String(i), crs, {
      cellSize: 114_688 / 2 ** i,
      origin: [-918_457.73, 6_918_457.73],
      matrixWidth: count,
      matrixHeight: count,
    }),
  );
  const about = {
    id: 'LINZAntarticaMapTilegrid',
    key: 'LINZAntarticaMapTilegrid',
    title: 'LINZ Antarctic Map Tile Grid (Ross Sea Region)',
    crs,
    crsDocument: crs.uri,
    orderedAxes: ['Y', 'X'],
  };
  return matrixSet(about, matrices);
}

export const REGISTERED_SETS: readonly TileMatrixSet[] = [
  WEB_MERCATOR_QUAD,
  WORLD_CRS84_QUAD,
  WGS1984_QUAD,
  WORLD_MERCATOR_QUAD,
  EUROPEAN_QUAD,
  canadianSet(),
  polarQuad('UPSArcticWGS84Quad', 'Arctic', 5041),
  polarQuad('UPSAntarcticWGS84Quad', 'Antarctic', 5042),
  gnosisGrid(),
  cdbGrid(),
  linzAntarctica(),
  ...Array.from({ length: 60 }, (_, i) => utmQuad(i + 1)),
];
