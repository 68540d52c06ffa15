import type { RasterCollection } from '../../../core/catalog/collection.js';
import { type Box, uncrossed } from '../../../core/geometry/box.js';
import { buildCrsUri, buildCrsUris, CRS84, type Crs } from '../../../core/geometry/crs.js';
import type { BandInfo } from '../../../core/rasters/rasters.js';
import { xmlName } from '../../../core/values/xml-name.js';
import { formatBandName } from '../../../services/rasters/bands.js';
import { coverageExtent } from '../../../services/rasters/subset.js';
import { extentIn, layerCrs } from '../layer-documents.js';
import { textElement, writeOgcElement, type XmlFailure } from './ogc-requests.js';
import { operationsMetadata, owsReport, serviceProvider } from './ows.js';

/** Documents of a WCS 2.0.1 (OGC 09-110r4) of one coverage. */

export const WCS_FORMAT = 'image/tiff';
export const WCS_VERSION = '2.0.1';
export const WCS_OPERATIONS = ['GetCapabilities', 'DescribeCoverage', 'GetCoverage'] as const;
export const WCS_SECTIONS = [
  ...(['ServiceIdentification', 'ServiceProvider', 'OperationsMetadata'] as const),
  ...(['ServiceMetadata', 'Contents'] as const),
] as const;

const NAMESPACES = {
  'xmlns:wcs': 'http://www.opengis.net/wcs/2.0',
  'xmlns:ows': 'http://www.opengis.net/ows/2.0',
  'xmlns:gml': 'http://www.opengis.net/gml/3.2',
  'xmlns:gmlcov': 'http://www.opengis.net/gmlcov/1.0',
  'xmlns:swe': 'http://www.opengis.net/swe/2.0',
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
  'xmlns:crs': 'http://www.opengis.net/wcs/crs/1.0',
};
const PROFILES = [
  ...['WCS/2.0/conf/core', 'WCS_protocol-binding_get-kvp/1.0/conf/get-kvp'],
  ...[
    'WCS_service-extension_crs/1.0/conf/crs',
    'WCS_service-extension_scaling/1.0/conf/scaling',
    'WCS_service-extension_range-subsetting/1.0/conf/record-subsetting',
  ],
];
const SUBTYPE = textElement('wcs:CoverageSubtype', 'RectifiedGridCoverage');

/** The identifier of the coverage, which must be an XML name without a colon. */
export const encodeCoverageId = ({ id }: RasterCollection) => xmlName(id);

interface CapabilitiesRequest {
  /** URL of the service, without parameters. */
  readonly address: string;
  readonly baseUrl: string;
  readonly includes: (section: (typeof WCS_SECTIONS)[number]) => boolean;
}

export function wcsCapabilities(
  collection: RasterCollection,
  { address, baseUrl, includes }: CapabilitiesRequest,
): string {
  const sections = {
    ServiceIdentification: identification(collection),
    ServiceProvider: serviceProvider,
    OperationsMetadata: operationsMetadata(address, WCS_OPERATIONS),
    ServiceMetadata: serviceMetadata(collection, baseUrl),
    Contents: writeOgcElement('wcs:Contents', summary(collection)),
  };
  const content = WCS_SECTIONS.filter(includes).map((name) => sections[name]);
  return writeOgcElement('wcs:Capabilities', content.join(''), { ...NAMESPACES, version: WCS_VERSION });
}

function identification({ title, description }: RasterCollection): string {
  return writeOgcElement(
    'ows:ServiceIdentification',
    [
      textElement('ows:Title', title),
      ...(description ? [textElement('ows:Abstract', description)] : []),
      ...[textElement('ows:ServiceType', 'OGC WCS'), textElement('ows:ServiceTypeVersion', WCS_VERSION)],
      ...PROFILES.map((profile) => textElement('ows:Profile', `http://www.opengis.net/spec/${profile}`)),
    ].join(''),
  );
}

function serviceMetadata({ crs }: RasterCollection, baseUrl: string): string {
  const supported = buildCrsUris(crs, baseUrl).map((uri) => textElement('crs:crsSupported', uri));
  return writeOgcElement(
    'wcs:ServiceMetadata',
    textElement('wcs:formatSupported', WCS_FORMAT) +
      writeOgcElement('wcs:Extension', writeOgcElement('crs:CrsMetadata', supported.join(''))),
  );
}

function summary(collection: RasterCollection): string {
  const extent = extentIn([collection], CRS84);
  const corners = extent && [
    textElement('ows:LowerCorner', `${extent['xmin']} ${extent['ymin']}`),
    textElement('ows:UpperCorner', `${extent['xmax']} ${extent['ymax']}`),
  ];
  return writeOgcElement(
    'wcs:CoverageSummary',
    [
      textElement('ows:Title', collection.title),
      ...(corners ? [writeOgcElement('ows:WGS84BoundingBox', corners.join(''))] : []),
      ...[textElement('wcs:CoverageId', encodeCoverageId(collection)), SUBTYPE],
    ].join(''),
  );
}

/** Labels of the axes, the eastern one first. */
export const getAxisLabels = ({ geographic }: Crs): readonly [string, string] =>
  geographic ? ['Long', 'Lat'] : ['E', 'N'];

/** The pixels of a coverage, in one of its CRS. */
export interface CoverageGrid {
  readonly crs: Crs;
  readonly uri: string;
  readonly box: Box;
  readonly width: number;
  readonly height: number;
  /** Column and row that the first pixel counts as. Default: 0, 0. */
  readonly first?: readonly [number, number];
}

/** Extent of the coverage in its native CRS, the same as in image services and collections. */
export function findNativeBox(collection: RasterCollection): Box {
  const { storageCrs, extent84, raster } = collection;
  const crs = layerCrs(collection);
  return crs.uri === storageCrs.uri
    ? coverageExtent(collection, crs)
    : uncrossed(extent84 ?? raster.extent84);
}

/** The pixels of the whole coverage, in the CRS that it is described in. */
function describeNativeGrid(collection: RasterCollection, baseUrl: string): CoverageGrid {
  const crs = layerCrs(collection);
  const { width, height } = collection.raster;
  return { crs, uri: buildCrsUri(crs, baseUrl), box: findNativeBox(collection), width, height };
}

export function coverageDescription(collection: RasterCollection, baseUrl: string): string {
  const id = encodeCoverageId(collection);
  const grid = describeNativeGrid(collection, baseUrl);
  const members = [
    ...[boundsElement(grid), textElement('wcs:CoverageId', id), domainElement(grid, id)],
    writeOgcElement('gmlcov:rangeType', rangeElement(collection.bands)),
    writeOgcElement('wcs:ServiceParameters', SUBTYPE + textElement('wcs:nativeFormat', WCS_FORMAT)),
  ];
  const description = writeOgcElement('wcs:CoverageDescription', members.join(''), { 'gml:id': id });
  return writeOgcElement('wcs:CoverageDescriptions', description, NAMESPACES);
}

/** A coverage whose values are in a file. `reference` is the URL of the file. */
export function writeGmlCoverage(
  id: string,
  grid: CoverageGrid,
  bands: readonly BandInfo[],
  reference: string,
): string {
  const parameters = writeOgcElement('gml:rangeParameters', '', {
    'xlink:href': reference,
    'xlink:arcrole': 'fileReference',
    'xlink:role': 'http://www.opengis.net/spec/GMLCOV_geotiff-coverages/1.0/conf/geotiff-coverage',
  });
  const file = [
    ...[parameters, textElement('gml:fileReference', reference)],
    ...[writeOgcElement('gml:fileStructure', ''), textElement('gml:mimeType', WCS_FORMAT)],
  ];
  const members = [
    ...[boundsElement(grid), domainElement(grid, id)],
    writeOgcElement('gml:rangeSet', writeOgcElement('gml:File', file.join(''))),
    writeOgcElement('gmlcov:rangeType', rangeElement(bands)),
  ];
  return writeOgcElement('gmlcov:RectifiedGridCoverage', members.join(''), { ...NAMESPACES, 'gml:id': id });
}

/** Numbers or labels of both axes in the order of the CRS. */
const ordered = ({ northFirst }: Crs, x: number | string, y: number | string) =>
  northFirst ? `${y} ${x}` : `${x} ${y}`;

function boundsElement({ crs, uri, box: [minx, miny, maxx, maxy] }: CoverageGrid): string {
  const unit = crs.geographic ? 'deg' : 'm';
  const envelope = writeOgcElement(
    'gml:Envelope',
    textElement('gml:lowerCorner', ordered(crs, minx, miny)) +
      textElement('gml:upperCorner', ordered(crs, maxx, maxy)),
    {
      srsName: uri,
      axisLabels: ordered(crs, ...getAxisLabels(crs)),
      uomLabels: `${unit} ${unit}`,
      srsDimension: 2,
    },
  );
  return writeOgcElement('gml:boundedBy', envelope);
}

/** The grid: its origin is the middle of the pixel in column 0 and row 0. */
function domainElement({ crs, uri, box, width, height, first = [0, 0] }: CoverageGrid, id: string): string {
  const [minx, miny, maxx, maxy] = box;
  const [dx, dy] = [(maxx - minx) / width, (maxy - miny) / height];
  const [column, row] = first;
  const limits =
    textElement('gml:low', `${column} ${row}`) +
    textElement('gml:high', `${column + width - 1} ${row + height - 1}`);
  const origin = ordered(crs, minx + dx * (0.5 - column), maxy - dy * (0.5 - row));
  const point = writeOgcElement('gml:Point', textElement('gml:pos', origin), {
    'gml:id': `${id}-origin`,
    srsName: uri,
  });
  const grid = [
    writeOgcElement('gml:limits', writeOgcElement('gml:GridEnvelope', limits)),
    ...[textElement('gml:axisLabels', 'i j'), writeOgcElement('gml:origin', point)],
    writeOgcElement('gml:offsetVector', ordered(crs, dx, 0), { srsName: uri }),
    writeOgcElement('gml:offsetVector', ordered(crs, 0, -dy), { srsName: uri }),
  ];
  return writeOgcElement(
    'gml:domainSet',
    writeOgcElement('gml:RectifiedGrid', grid.join(''), { 'gml:id': `${id}-grid`, dimension: 2 }),
  );
}

function rangeElement(bands: readonly BandInfo[]): string {
  const counts = new Map<number, number>();
  const fields = bands.map(({ band, description, unit }) => {
    const count = (counts.get(band) ?? 0) + 1;
    counts.set(band, count);
    const facts = [
      ...(description ? [textElement('swe:description', description)] : []),
      writeOgcElement('swe:uom', '', { code: encodeUnit(unit) }),
    ];
    // A band can be there several times; names of fields cannot.
    const name = count === 1 ? formatBandName(band) : `${formatBandName(band)}-${count}`;
    return writeOgcElement('swe:field', writeOgcElement('swe:Quantity', facts.join('')), { name });
  });
  return writeOgcElement('swe:DataRecord', fields.join(''));
}

/** A unit as UCUM writes it: with points between its parts, and without colons. */
const encodeUnit = (unit: string | undefined) => unit?.trim().replace(/[\s:]+/g, '.') || '1';

const LOCATORS: Readonly<Record<string, string>> = {
  COVERAGEID: 'coverageId',
  FORMAT: 'format',
  MEDIATYPE: 'mediaType',
  VERSION: 'version',
  SUBSET: 'subset',
  RANGESUBSET: 'rangeSubset',
  SCALEFACTOR: 'scaleFactor',
  SCALEAXES: 'scaleAxes',
  SCALESIZE: 'scaleSize',
  SCALEEXTENT: 'scaleExtent',
  SERVICE: 'service',
  REQUEST: 'request',
  SUBSETTINGCRS: 'subsettingCrs',
  OUTPUTCRS: 'outputCrs',
  INTERPOLATION: 'interpolation',
};

/** The name of a parameter as the standards write it. */
export const findLocator = (parameter: string) => LOCATORS[parameter] ?? parameter;

export function wcsException(failure: XmlFailure): string {
  const form = { namespace: NAMESPACES['xmlns:ows'], version: '2.0.0', locators: LOCATORS };
  return owsReport(failure, form);
}
