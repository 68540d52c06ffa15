import { withinMercator } from '../../../core/box.js';
import { CRS84 } from '../../../core/crs.js';
import { PNG_FORMAT } from '../../../core/media.js';
import { matrixSize, WEB_MERCATOR_QUAD } from '../../../core/tile-matrix.js';
import { xmlEscaped } from '../../../core/xml-text.js';
import { extentIn } from './layer-documents.js';
import type { DrawnLayer } from './map-layers.js';
import { element, textElement } from './ogc-requests.js';

/** Capabilities of a WMTS (OGC 07-057r7): one layer, the tiles of the service. */

/** The well-known scale set of these tiles, and the name of the matrix set. */
export const MATRIX_SET = 'GoogleMapsCompatible';
export const STYLE = 'default';

const NAMESPACES = {
  xmlns: 'http://www.opengis.net/wmts/1.0',
  'xmlns:ows': 'http://www.opengis.net/ows/1.1',
  'xmlns:xlink': 'http://www.w3.org/1999/xlink',
  version: '1.0.0',
};
/** Metres of a pixel of the standard. */
const PIXEL = 0.00028;

interface Service {
  readonly name: string;
  /** Of the WMTS, and of the map service. */
  readonly address: string;
  readonly map: string;
  readonly layers: readonly DrawnLayer[];
}

export function wmtsCapabilities(service: Service): string {
  const identification = [
    ...[textElement('ows:Title', service.name), textElement('ows:ServiceType', 'OGC WMTS')],
    textElement('ows:ServiceTypeVersion', '1.0.0'),
  ];
  const document = `${service.address}/1.0.0/WMTSCapabilities.xml`;
  return element(
    'Capabilities',
    [
      element('ows:ServiceIdentification', identification.join('')),
      element('ows:OperationsMetadata', ['GetCapabilities', 'GetTile'].map(operationOf(service)).join('')),
      element('Contents', layerElement(service) + matrixSet()),
      element('ServiceMetadataURL', '', { 'xlink:href': document }),
    ].join(''),
    NAMESPACES,
  );
}

const operationOf =
  ({ address }: Service) =>
  (name: string) => {
    const values = element('ows:AllowedValues', textElement('ows:Value', 'KVP'));
    const constraint = element('ows:Constraint', values, { name: 'GetEncoding' });
    const get = element('ows:Get', constraint, { 'xlink:href': `${address}?` });
    return element('ows:Operation', element('ows:DCP', element('ows:HTTP', get)), { name });
  };

function layerElement({ name, map, layers }: Service): string {
  const extent = extentIn(layers, CRS84);
  const box = extent && withinMercator([extent['xmin']!, extent['ymin']!, extent['xmax']!, extent['ymax']!]);
  const corners = box && [
    textElement('ows:LowerCorner', `${box[0]} ${box[1]}`),
    textElement('ows:UpperCorner', `${box[2]} ${box[3]}`),
  ];
  return element(
    'Layer',
    [
      textElement('ows:Title', name),
      ...(corners ? [element('ows:WGS84BoundingBox', corners.join(''))] : []),
      textElement('ows:Identifier', name),
      element('Style', textElement('ows:Identifier', STYLE), { isDefault: 'true' }),
      textElement('Format', PNG_FORMAT.mediaType),
      element('TileMatrixSetLink', textElement('TileMatrixSet', MATRIX_SET)),
      element('ResourceURL', '', {
        ...{ format: PNG_FORMAT.mediaType, resourceType: 'tile' },
        template: `${map}/tile/{TileMatrix}/{TileRow}/{TileCol}`,
      }),
    ].join(''),
  );
}

function matrixSet(): string {
  const matrices = WEB_MERCATOR_QUAD.matrices.map(({ cellSize, origin }, zoom) => {
    const { columns, rows } = matrixSize(WEB_MERCATOR_QUAD, zoom);
    const members = [
      ...[textElement('ows:Identifier', `${zoom}`), textElement('ScaleDenominator', `${cellSize / PIXEL}`)],
      ...[textElement('TopLeftCorner', origin.join(' ')), textElement('TileWidth', '256')],
      ...[textElement('TileHeight', '256'), textElement('MatrixWidth', `${columns}`)],
      textElement('MatrixHeight', `${rows}`),
    ];
    return element('TileMatrix', members.join(''));
  });
  return element(
    'TileMatrixSet',
    [
      ...[
        textElement('ows:Identifier', MATRIX_SET),
        textElement('ows:SupportedCRS', 'urn:ogc:def:crs:EPSG::3857'),
      ],
      textElement('WellKnownScaleSet', 'urn:ogc:def:wkss:OGC:1.0:GoogleMapsCompatible'),
      ...matrices,
    ].join(''),
  );
}

/** Parameters as tiles name them, and as WMTS does. */
const LOCATORS: Readonly<Record<string, string>> = {
  ...{ TILEMATRIX: 'TileMatrix', TILEROW: 'TileRow', TILECOL: 'TileCol', TILEMATRIXSET: 'TileMatrixSet' },
  ...{ LAYER: 'layer', STYLE: 'style', FORMAT: 'format', REQUEST: 'request' },
};

export function wmtsException(message: string, parameter: string | undefined): string {
  const name = parameter?.toUpperCase();
  const locator = LOCATORS[name ?? ''];
  const code = /^TILE(ROW|COL)$/.test(name ?? '') ? 'TileOutOfRange' : 'InvalidParameterValue';
  const exceptionCode = parameter === undefined ? 'NoApplicableCode' : code;
  const text = element('ows:ExceptionText', xmlEscaped(message));
  const exception = element('ows:Exception', text, { exceptionCode, ...(locator ? { locator } : {}) });
  const names = { 'xmlns:ows': NAMESPACES['xmlns:ows'], version: '1.1.0' };
  return element('ows:ExceptionReport', exception, names);
}
