/** The tile cache of the GeoServer of the tests, as the documentation of its REST API shows its documents. */

interface Gridset {
  readonly name: string;
  readonly srid: number;
  readonly extent: readonly number[];
  readonly alignTopLeft?: boolean;
  readonly resolutions?: readonly number[];
  readonly scaleDenominators?: readonly number[];
  readonly metersPerUnit: number;
  readonly tileSide?: number;
  readonly yCoordinateFirst?: boolean;
}

const halves = (first: number, count: number) => Array.from({ length: count }, (_, i) => first / 2 ** i);

/** As GeoServer is delivered with it; its extent is rounded, and it has more scales than WebMercatorQuad. */
const GOOGLE: Gridset = {
  ...{ name: 'EPSG:900913', srid: 900913, metersPerUnit: 1 },
  extent: [-20037508.34, -20037508.34, 20037508.34, 20037508.34],
  resolutions: halves((2 * 20037508.34) / 256, 31),
};
const DEGREES: Gridset = {
  ...{ name: 'EPSG:4326', srid: 4326, extent: [-180, -90, 180, 90], yCoordinateFirst: true },
  ...{ resolutions: halves(0.703125, 22), metersPerUnit: 111319.49079327358 },
};
/** The set of Europe by its scales, under another name. */
const EUROPE: Gridset = {
  ...{ name: 'Europe', srid: 3035, extent: [2e6, 1e6, 6.5e6, 5.5e6], alignTopLeft: true },
  ...{ scaleDenominators: halves(4.5e6 / 256 / 0.00028, 16), metersPerUnit: 1, yCoordinateFirst: true },
};
/** Counted from the bottom, so that the top of its tiles differs from scale to scale. */
const ALPS: Gridset = {
  ...{ name: 'Alps 25832', srid: 25832, extent: [280_000, 5_235_000, 921_290, 6_101_490] },
  ...{ resolutions: [280, 140], metersPerUnit: 1, tileSide: 512 },
};
const NOWHERE: Gridset = {
  ...{ name: 'Nowhere', srid: 999_999, extent: [0, 0, 1, 1], resolutions: [1], metersPerUnit: 1 },
};

const GRIDSETS = [DEGREES, GOOGLE, EUROPE, ALPS, NOWHERE];
const TILE_LAYERS: Readonly<Record<string, readonly Gridset[]>> = {
  'topp:countries': [GOOGLE, DEGREES, ALPS],
  'topp:heights': [GOOGLE],
  'topp:world': [EUROPE],
};

/** Documents by their paths below the root of the tile cache, with `.xml`. */
export function tileCacheDocuments(): Record<string, string> {
  return {
    'gridsets.xml': listOf(
      'gridSets',
      'gridSet',
      GRIDSETS.map(({ name }) => name),
    ),
    ...Object.fromEntries(
      GRIDSETS.map((gridset) => [`gridsets/${gridset.name}.xml`, gridsetDocument(gridset)]),
    ),
    'layers.xml': listOf('layers', 'layer', Object.keys(TILE_LAYERS)),
    ...Object.fromEntries(
      Object.entries(TILE_LAYERS).map(([id, gridsets]) => [`layers/${id}.xml`, layerDocument(id, gridsets)]),
    ),
  };
}

function listOf(root: string, entry: string, names: readonly string[]): string {
  const link =
    '<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="alternate" href="http://127.0.0.3:1/x.xml"/>';
  return `<${root}>${names.map((name) => `<${entry}><name>${name}</name>${link}</${entry}>`).join('')}</${root}>`;
}

const textsOf = (name: string, values: readonly (string | number)[]) =>
  values.map((value) => `<${name}>${value}</${name}>`).join('');

function gridsetDocument({
  tileSide = 256,
  alignTopLeft = false,
  yCoordinateFirst = false,
  ...gridset
}: Gridset) {
  const { name, srid, extent, resolutions = [], scaleDenominators = [], metersPerUnit } = gridset;
  const scales =
    resolutions.length > 0
      ? `<resolutions>${textsOf('double', resolutions)}</resolutions>`
      : `<scaleDenominators>${textsOf('double', scaleDenominators)}</scaleDenominators>`;
  const names = [...resolutions, ...scaleDenominators].map((_, i) => `${name}:${i}`);
  return `<gridSet><name>${name}</name><srs><number>${srid}</number></srs>
<extent><coords>${textsOf('double', extent)}</coords></extent><alignTopLeft>${alignTopLeft}</alignTopLeft>${scales}
<metersPerUnit>${metersPerUnit}</metersPerUnit><pixelSize>2.8E-4</pixelSize>
<scaleNames>${textsOf('string', names)}</scaleNames>
<tileHeight>${tileSide}</tileHeight><tileWidth>${tileSide}</tileWidth>
<yCoordinateFirst>${yCoordinateFirst}</yCoordinateFirst></gridSet>`;
}

function layerDocument(id: string, gridsets: readonly Gridset[]): string {
  const subsets = gridsets.map(({ name }) => `<gridSubset><gridSetName>${name}</gridSetName></gridSubset>`);
  return `<GeoServerLayer><id>LayerInfoImpl--3a33e7d0</id><enabled>true</enabled><name>${id}</name>
<mimeFormats><string>image/png</string></mimeFormats><gridSubsets>${subsets.join('')}</gridSubsets></GeoServerLayer>`;
}
