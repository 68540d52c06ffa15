import { findAttribution, hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { badParameter } from '../../../core/errors/errors.js';
import { CRS84, type Crs } from '../../../core/geometry/crs.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { xmlEscaped } from '../../../core/values/xml-text.js';
import { mapSettings } from '../../../services/catalog/layers/map-settings.js';
import { extentIn, layerCrs } from '../layer-documents.js';
import type { DrawnLayer } from '../maps/map-layers.js';
import { MAP_CRS } from '../maps/map-window.js';
import type { Members } from '../members.js';
import { textElement, writeOgcElement, type XmlFailure } from './ogc-requests.js';

/** Capabilities of a WMS (OGC 06-042, and 01-068r3 for 1.1.1). */

export type WmsVersion = '1.3.0' | '1.1.1';

/** Media types of capabilities. */
export const CAPABILITIES_TYPES: Readonly<Record<WmsVersion, string>> = {
  '1.3.0': 'text/xml',
  '1.1.1': 'application/vnd.ogc.wms_xml',
};
/** Media type of exceptions in 1.1.1. */
const OLD_EXCEPTION_TYPE = 'application/vnd.ogc.se_xml';

/**
 * Version of the response: the highest version up to that of the request, otherwise the lowest. Throws 400 for an
 * invalid version.
 */
export function negotiateWmsVersion(pairs: Members): WmsVersion {
  const name = pairs['VERSION'] ? 'VERSION' : 'WMTVER';
  const text = pairs[name] || '1.3.0';
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?$/.exec(String(text)) ?? [];
  if (major === undefined)
    throw badParameter(name, `'${String(text).slice(0, 40)}' is not a supported version. Use 1.3.0 or 1.1.1`);
  return Number(major) * 1000 + Number(minor) < 1003 ? '1.1.1' : '1.3.0';
}

export const WMS_FORMATS = ['image/png', 'image/jpeg', 'image/webp', 'image/tiff'] as const;
export const INFO_FORMATS = ['text/plain', 'text/html', 'application/json'] as const;

const WMS = 'http://www.opengis.net/wms';
const XLINK = 'http://www.w3.org/1999/xlink';
const BOTH = 'EPSG:4326 EPSG:3857 CRS:84'.split(' ');

interface Service {
  readonly name: string;
  /** URL of the service, without parameters. */
  readonly address: string;
  /** The one on top first. */
  readonly layers: readonly DrawnLayer[];
}

export function wmsCapabilities(service: Service, version: WmsVersion): string {
  const isNew = version === '1.3.0';
  const root = isNew ? 'WMS_Capabilities' : 'WMT_MS_Capabilities';
  // In the DTD of 1.1.1, only links have namespaces.
  const names: Record<string, string> = isNew ? { xmlns: WMS, 'xmlns:xlink': XLINK } : {};
  return writeOgcElement(root, serviceElement(service, isNew) + capability(service, version), {
    version,
    ...names,
  });
}

function serviceElement({ name, address, layers }: Service, isNew: boolean): string {
  const { maxImageWidth, maxImageHeight } = mapSettings(layers.at(-1)?.maps ?? {});
  const credits = [...new Set(layers.flatMap((one) => findAttribution(one) ?? []))].join(' ');
  return writeOgcElement(
    'Service',
    [
      textElement('Name', isNew ? 'WMS' : 'OGC:WMS'),
      textElement('Title', name),
      ...(credits ? [textElement('Abstract', credits)] : []),
      online(address),
      ...(isNew
        ? [
            textElement('LayerLimit', `${LIMITS.collectionsPerRequest}`),
            ...[textElement('MaxWidth', `${maxImageWidth}`), textElement('MaxHeight', `${maxImageHeight}`)],
          ]
        : []),
    ].join(''),
  );
}

const online = (address: string) =>
  writeOgcElement('OnlineResource', '', {
    'xmlns:xlink': XLINK,
    'xlink:type': 'simple',
    'xlink:href': address,
  });

function capability(service: Service, version: WmsVersion): string {
  const get = writeOgcElement(
    'DCPType',
    writeOgcElement('HTTP', writeOgcElement('Get', online(`${service.address}?`))),
  );
  const request = (name: string, formats: readonly string[]) =>
    writeOgcElement(name, formats.map((format) => textElement('Format', format)).join('') + get);
  const isNew = version === '1.3.0';
  const requests = [
    request('GetCapabilities', [CAPABILITIES_TYPES[version]]),
    ...[request('GetMap', WMS_FORMATS), request('GetFeatureInfo', INFO_FORMATS)],
    // The schema of 1.3.0 has no element for it.
    ...(isNew ? [] : [request('GetLegendGraphic', ['image/png'])]),
  ];
  const exception = writeOgcElement('Exception', textElement('Format', isNew ? 'XML' : OLD_EXCEPTION_TYPE));
  return writeOgcElement(
    'Capability',
    writeOgcElement('Request', requests.join('')) + exception + tree(service, version),
  );
}

function tree(service: Service, version: WmsVersion): string {
  const { layers, name } = service;
  const own = layers.map((one) => layerCrs(one).epsg).filter((epsg) => epsg > 0);
  const systems = [...new Set([...BOTH, ...own.map((epsg) => `EPSG:${epsg}`)])];
  const tag = version === '1.3.0' ? 'CRS' : 'SRS';
  const shown = version === '1.3.0' ? systems : systems.filter((one) => one !== 'CRS:84');
  return writeOgcElement(
    'Layer',
    [
      textElement('Title', name),
      ...shown.map((one) => textElement(tag, one)),
      extents(layers, version),
      ...layers.map((layer) => layerElement(service, layer, version)),
    ].join(''),
  );
}

function layerElement({ address }: Service, layer: DrawnLayer, version: WmsVersion): string {
  const legend = `${address}?${new URLSearchParams({
    SERVICE: 'WMS',
    VERSION: version,
    REQUEST: 'GetLegendGraphic',
    LAYER: `${layer.layerId}`,
    FORMAT: 'image/png',
  })}`;
  const legendUrl = textElement('Format', 'image/png') + online(legend);
  return writeOgcElement(
    'Layer',
    [
      textElement('Name', `${layer.layerId}`),
      textElement('Title', layer.title),
      ...(layer.description ? [textElement('Abstract', layer.description)] : []),
      extents([layer], version),
      writeOgcElement(
        'Style',
        textElement('Name', 'default') +
          textElement('Title', layer.title) +
          writeOgcElement('LegendURL', legendUrl, { width: 20, height: 20 }),
      ),
    ].join(''),
    { queryable: 1, ...(hasFeatures(layer) ? {} : { opaque: 1 }) },
  );
}

/** Extent of layers; empty if it is unknown. */
function extents(layers: readonly Collection[], version: WmsVersion): string {
  const [degrees, metres] = [extentIn(layers, CRS84), extentIn(layers, MAP_CRS)];
  if (!degrees || !metres) return '';
  const { xmin, ymin, xmax, ymax } = degrees;
  if (version === '1.1.1')
    return (
      writeOgcElement('LatLonBoundingBox', '', { minx: xmin!, miny: ymin!, maxx: xmax!, maxy: ymax! }) +
      box('SRS', MAP_CRS, metres)
    );
  const sides = [
    ...[textElement('westBoundLongitude', `${xmin}`), textElement('eastBoundLongitude', `${xmax}`)],
    ...[textElement('southBoundLatitude', `${ymin}`), textElement('northBoundLatitude', `${ymax}`)],
  ];
  return writeOgcElement('EX_GeographicBoundingBox', sides.join('')) + box('CRS', MAP_CRS, metres);
}

function box(tag: 'CRS' | 'SRS', { epsg }: Crs, extent: NonNullable<ReturnType<typeof extentIn>>): string {
  const { xmin, ymin, xmax, ymax } = extent;
  return writeOgcElement('BoundingBox', '', {
    [tag]: `EPSG:${epsg}`,
    minx: xmin!,
    miny: ymin!,
    maxx: xmax!,
    maxy: ymax!,
  });
}

/** Exception codes by parameter. */
const OLD_CODES: Readonly<Record<string, string>> = {
  SRS: 'InvalidSRS',
  FORMAT: 'InvalidFormat',
  INFO_FORMAT: 'InvalidFormat',
  LAYERS: 'LayerNotDefined',
  QUERY_LAYERS: 'LayerNotDefined',
  LAYER: 'LayerNotDefined',
  STYLES: 'StyleNotDefined',
  STYLE: 'StyleNotDefined',
};
const CODES: Readonly<Record<string, string>> = {
  ...OLD_CODES,
  CRS: 'InvalidCRS',
  REQUEST: 'OperationNotSupported',
  I: 'InvalidPoint',
  J: 'InvalidPoint',
};

/** The exception report in the version of the request, with its media type. */
export function wmsException(
  { message, parameter }: XmlFailure,
  query: string,
): readonly [body: string, mediaType: string] {
  const isOld = versionOfQuery(query) === '1.1.1';
  const code = (isOld ? OLD_CODES : CODES)[parameter ?? ''];
  const exception = writeOgcElement('ServiceException', xmlEscaped(message), code ? { code } : {});
  if (isOld)
    return [writeOgcElement('ServiceExceptionReport', exception, { version: '1.1.1' }), OLD_EXCEPTION_TYPE];
  const attributes = { version: '1.3.0', xmlns: 'http://www.opengis.net/ogc' };
  return [writeOgcElement('ServiceExceptionReport', exception, attributes), 'text/xml'];
}

/** The version of a request that may be wrong in any way: 1.3.0 where it names none. */
function versionOfQuery(query: string): WmsVersion {
  const pairs = [...new URLSearchParams(query)].map(([name, value]) => [name.toUpperCase(), value]);
  try {
    return negotiateWmsVersion(Object.fromEntries(pairs));
  } catch {
    return '1.3.0';
  }
}
