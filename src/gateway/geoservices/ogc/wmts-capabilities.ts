import { withinMercator } from '../../../core/geometry/box.js';
import { CRS84 } from '../../../core/geometry/crs.js';
import { PNG_FORMAT } from '../../../core/http/media.js';
import { matrixSize, WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import { extentIn } from '../layer-documents.js';
import type { DrawnLayer } from '../maps/map-layers.js';
import { textElement, writeOgcElement, type XmlFailure } from './ogc-requests.js';
import { operationsMetadata, owsReport, serviceProvider } from './ows.js';

/** Capabilities of a WMTS (OGC 07-057r7): one layer, the tiles of the service. */

/** The well-known scale set of these tiles, and the name of the matrix set. */
export const MATRIX_SET = 'GoogleMapsCompatible';
export const STYLE = 'default';
export const WMTS_VERSION = '1.0.0';
export const WMTS_OPERATIONS = ['GetCapabilities', 'GetTile'] as const;
export const WMTS_SECTIONS = [
  ...(['ServiceIdentification', 'ServiceProvider', 'OperationsMetadata'] as const),
  ...(['Contents', 'Themes'] as const),
] as const;

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
  /** URL of the WMTS, without parameters. */
  readonly address: string;
  readonly layers: readonly DrawnLayer[];
}

type Section = (typeof WMTS_SECTIONS)[number];

export function wmtsCapabilities(service: Service, includes: (section: Section) => boolean): string {
  const { address } = service;
  const sections: Readonly<Record<Section, string>> = {
    ServiceIdentification: identification(service),
    ServiceProvider: serviceProvider,
    OperationsMetadata: operationsMetadata(address, WMTS_OPERATIONS, KVP),
    Contents: writeOgcElement('Contents', layerElement(service) + matrixSet()),
    // A theme arranges several layers.
    Themes: '',
  };
  const content = WMTS_SECTIONS.filter(includes).map((name) => sections[name]);
  const document = `${address}/${WMTS_VERSION}/WMTSCapabilities.xml`;
  const metadata = writeOgcElement('ServiceMetadataURL', '', { 'xlink:href': document });
  return writeOgcElement('Capabilities', content.join('') + metadata, NAMESPACES);
}

/** Constraint of operations whose parameters are pairs. */
const KVP = writeOgcElement(
  'ows:Constraint',
  writeOgcElement('ows:AllowedValues', textElement('ows:Value', 'KVP')),
  {
    name: 'GetEncoding',
  },
);

function identification(service: Service): string {
  const members = [
    ...[textElement('ows:Title', service.name), textElement('ows:ServiceType', 'OGC WMTS')],
    textElement('ows:ServiceTypeVersion', WMTS_VERSION),
  ];
  return writeOgcElement('ows:ServiceIdentification', members.join(''));
}

function layerElement({ name, address, layers }: Service): string {
  const extent = extentIn(layers, CRS84);
  const box = extent && withinMercator([extent['xmin']!, extent['ymin']!, extent['xmax']!, extent['ymax']!]);
  const corners = box && [
    textElement('ows:LowerCorner', `${box[0]} ${box[1]}`),
    textElement('ows:UpperCorner', `${box[2]} ${box[3]}`),
  ];
  return writeOgcElement(
    'Layer',
    [
      textElement('ows:Title', name),
      ...(corners ? [writeOgcElement('ows:WGS84BoundingBox', corners.join(''))] : []),
      textElement('ows:Identifier', name),
      writeOgcElement('Style', textElement('ows:Identifier', STYLE), { isDefault: 'true' }),
      textElement('Format', PNG_FORMAT.mediaType),
      writeOgcElement('TileMatrixSetLink', textElement('TileMatrixSet', MATRIX_SET)),
      writeOgcElement('ResourceURL', '', {
        format: PNG_FORMAT.mediaType,
        resourceType: 'tile',
        template: `${address}/tile/${WMTS_VERSION}/${encodeURIComponent(name)}/{style}/{TileMatrixSet}/{TileMatrix}/{TileRow}/{TileCol}.png`,
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
    return writeOgcElement('TileMatrix', members.join(''));
  });
  return writeOgcElement(
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
  TILEMATRIX: 'TileMatrix',
  TILEROW: 'TileRow',
  TILECOL: 'TileCol',
  TILEMATRIXSET: 'TileMatrixSet',
  LAYER: 'layer',
  STYLE: 'style',
  FORMAT: 'format',
  REQUEST: 'request',
  SERVICE: 'service',
  VERSION: 'version',
};

export function wmtsException(failure: XmlFailure): string {
  const { parameter, code } = failure;
  const isBeyond = code === undefined && /^TILE(ROW|COL)$/i.test(parameter ?? '');
  const named = { ...failure, ...(parameter ? { parameter: findLocator(parameter) } : {}) };
  return owsReport(
    { ...named, code: isBeyond ? 'TileOutOfRange' : code },
    { namespace: NAMESPACES['xmlns:ows'], version: '1.1.0', locators: LOCATORS },
  );
}

const findLocator = (parameter: string) => LOCATORS[parameter.toUpperCase()] ?? parameter;
