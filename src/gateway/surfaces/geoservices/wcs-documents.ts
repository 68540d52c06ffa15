import type { Box } from '../../../core/box.js';
import type { RasterCollection } from '../../../core/collection.js';
import { CRS84, type Crs } from '../../../core/crs.js';
import { xmlName } from '../../../core/xml-name.js';
import { xmlEscaped } from '../../../core/xml-text.js';
import { bandName } from '../coverages/documents.js';
import { imageBox } from './image-documents.js';
import { extentIn, layerCrs } from './layer-documents.js';
import { element, textElement } from './ogc-requests.js';

/** Documents of a WCS 2.0.1 (OGC 09-110r4) of one coverage. */

export const WCS_FORMAT = 'image/tiff';

const NAMESPACES = {
  'xmlns:wcs': 'http://www.opengis.net/wcs/2.0',
  'xmlns:ows': 'http://www.opengis.net/ows/2.0',
  'xmlns:gml': 'http://www.opengis.net/gml/3.2',
  'xmlns:gmlcov': 'http://www.opengis.net/gmlcov/1.0',
  'xmlns:swe': 'http://www.opengis.net/swe/2.0',
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
};
const PROFILES = [
  ...['WCS/2.0/conf/core', 'WCS_protocol-binding_get-kvp/1.0/conf/get-kvp'],
  ...[
    'WCS_service-extension_scaling/1.0/conf/scaling',
    'WCS_service-extension_range-subsetting/1.0/conf/record-subsetting',
  ],
];
const SUBTYPE = textElement('wcs:CoverageSubtype', 'RectifiedGridCoverage');

export function wcsCapabilities(collection: RasterCollection, address: string): string {
  const { id, title, description } = collection;
  const identification = [
    textElement('ows:Title', title),
    ...(description ? [textElement('ows:Abstract', description)] : []),
    ...[textElement('ows:ServiceType', 'OGC WCS'), textElement('ows:ServiceTypeVersion', '2.0.1')],
    ...PROFILES.map((profile) => textElement('ows:Profile', `http://www.opengis.net/spec/${profile}`)),
  ];
  const get = element('ows:Get', '', { 'xlink:type': 'simple', 'xlink:href': `${address}?` });
  const operations = ['GetCapabilities', 'DescribeCoverage', 'GetCoverage'].map((name) =>
    element('ows:Operation', element('ows:DCP', element('ows:HTTP', get)), { name }),
  );
  const summary = [textElement('wcs:CoverageId', id), SUBTYPE, degreesOf(collection)];
  return element(
    'wcs:Capabilities',
    [
      element('ows:ServiceIdentification', identification.join('')),
      element('ows:ServiceProvider', textElement('ows:ProviderName', 'Graticule')),
      element('ows:OperationsMetadata', operations.join('')),
      element('wcs:ServiceMetadata', textElement('wcs:formatSupported', WCS_FORMAT)),
      element('wcs:Contents', element('wcs:CoverageSummary', summary.join(''))),
    ].join(''),
    { ...NAMESPACES, version: '2.0.1' },
  );
}

function degreesOf(collection: RasterCollection): string {
  const extent = extentIn([collection], CRS84);
  if (!extent) return '';
  const { xmin, ymin, xmax, ymax } = extent;
  const corners =
    textElement('ows:LowerCorner', `${xmin} ${ymin}`) + textElement('ows:UpperCorner', `${xmax} ${ymax}`);
  return element('ows:WGS84BoundingBox', corners);
}

/** Labels of the axes, the eastern one first. */
export const axesOf = ({ geographic }: Crs): readonly [string, string] =>
  geographic ? ['Long', 'Lat'] : ['E', 'N'];

export function coverageDescription(collection: RasterCollection): string {
  const crs = layerCrs(collection);
  const [minx, miny, maxx, maxy] = boxOf(collection, crs);
  const { width, height } = collection.raster;
  const [dx, dy] = [(maxx - minx) / width, (maxy - miny) / height];
  const ordered = (x: number | string, y: number | string) => (crs.northFirst ? `${y} ${x}` : `${x} ${y}`);
  const srsName = crs.uri;
  const [name, unit] = [xmlName(collection.id), crs.geographic ? 'deg' : 'm'];
  const envelope = element(
    'gml:Envelope',
    textElement('gml:lowerCorner', ordered(minx, miny)) + textElement('gml:upperCorner', ordered(maxx, maxy)),
    { srsName, axisLabels: ordered(...axesOf(crs)), uomLabels: `${unit} ${unit}`, srsDimension: 2 },
  );
  const limits = textElement('gml:low', '0 0') + textElement('gml:high', `${width - 1} ${height - 1}`);
  const first = textElement('gml:pos', ordered(minx + dx / 2, maxy - dy / 2));
  const grid = [
    element('gml:limits', element('gml:GridEnvelope', limits)),
    textElement('gml:axisLabels', 'i j'),
    element('gml:origin', element('gml:Point', first, { 'gml:id': `${name}-origin`, srsName })),
    element('gml:offsetVector', ordered(dx, 0), { srsName }),
    element('gml:offsetVector', ordered(0, -dy), { srsName }),
  ];
  const members = [
    element('gml:boundedBy', envelope),
    textElement('wcs:CoverageId', collection.id),
    element(
      'gml:domainSet',
      element('gml:RectifiedGrid', grid.join(''), { 'gml:id': `${name}-grid`, dimension: 2 }),
    ),
    element('gmlcov:rangeType', element('swe:DataRecord', fieldsOf(collection))),
    element('wcs:ServiceParameters', SUBTYPE + textElement('wcs:nativeFormat', WCS_FORMAT)),
  ];
  const description = element('wcs:CoverageDescription', members.join(''), { 'gml:id': name });
  return element('wcs:CoverageDescriptions', description, NAMESPACES);
}

/** In the CRS that the coverage is told of in. */
export function boxOf(collection: RasterCollection, crs: Crs): Box {
  return imageBox(collection, crs) ?? collection.extent84 ?? [-180, -90, 180, 90];
}

function fieldsOf({ bands }: RasterCollection): string {
  return bands
    .map(({ band, description, unit }) => {
      const facts = [
        ...(description ? [textElement('swe:description', description)] : []),
        element('swe:uom', '', { code: unit || '1' }),
      ];
      return element('swe:field', element('swe:Quantity', facts.join('')), { name: bandName(band) });
    })
    .join('');
}

const CODES: Readonly<Record<string, string>> = {
  ...{ COVERAGEID: 'NoSuchCoverage', SUBSET: 'InvalidSubsetting', RANGESUBSET: 'NoSuchField' },
  ...{ SCALESIZE: 'InvalidExtent', SCALEFACTOR: 'InvalidScaleFactor' },
};

export function wcsException(message: string, parameter: string | undefined): string {
  const exceptionCode =
    parameter === undefined ? 'NoApplicableCode' : (CODES[parameter] ?? 'InvalidParameterValue');
  const exception = element('ows:Exception', element('ows:ExceptionText', xmlEscaped(message)), {
    ...{ exceptionCode },
    ...(parameter === undefined ? {} : { locator: parameter }),
  });
  return element('ows:ExceptionReport', exception, {
    'xmlns:ows': NAMESPACES['xmlns:ows'],
    version: '2.0.0',
  });
}
