import type { RemoteLayer, RemoteService, SourceKind } from '../../../../core/exchange/ingest.js';
import type { Box } from '../../../../core/geometry/box.js';
import { attribute, child, children, textOf, type XmlNode } from '../../../files/xml.js';
import { sridOf } from '../json.js';

/** What the capabilities of a WFS, WMS or WMTS offer; undefined for another document. */
export function serviceOf(url: string, name: string, root: XmlNode): RemoteService | undefined {
  switch (name) {
    case 'WFS_Capabilities':
      return service(
        'ogc-wfs',
        url,
        root,
        children(child(root, 'FeatureTypeList'), 'FeatureType').map(featureType),
      );
    case 'WMS_Capabilities':
    case 'WMT_MS_Capabilities':
      return service('ogc-wms', url, root, mapLayers(child(root, 'Capability', 'Layer')));
    case 'Capabilities':
      if (children(child(root, 'Contents'), 'TileMatrixSet').length === 0) return undefined;
      return service('ogc-wmts', url, root, children(child(root, 'Contents'), 'Layer').map(tileLayer));
    default:
      return undefined;
  }
}

function service(
  kind: SourceKind,
  url: string,
  root: XmlNode,
  layers: readonly RemoteLayer[],
): RemoteService {
  const about = child(root, 'ServiceIdentification');
  const old = child(root, 'Service');
  return {
    kind,
    url,
    name: textOf(about, 'Title') ?? textOf(old, 'Title') ?? textOf(old, 'Name') ?? new URL(url).host,
    description: textOf(about, 'Abstract') ?? textOf(old, 'Abstract'),
    layers,
  };
}

function featureType(node: XmlNode): RemoteLayer {
  const crs = textOf(node, 'DefaultCRS') ?? textOf(node, 'DefaultSRS') ?? textOf(node, 'SRS');
  return {
    kind: 'ogc-wfs',
    name: textOf(node, 'Name') ?? '',
    title: textOf(node, 'Title'),
    description: textOf(node, 'Abstract'),
    srid: sridOf(crs),
    extent: extentOf(cornersOf(child(node, 'WGS84BoundingBox'))),
  };
}

/** Layers with a name, of a tree of groups; a CRS of a group is one of its layers too. */
function mapLayers(node: XmlNode, inherited?: number): RemoteLayer[] {
  const crs = [...children(node, 'CRS'), ...children(node, 'SRS')].map((one) => sridOf(textOf(one)));
  const srid = crs.find((one) => one !== undefined) ?? inherited;
  const name = textOf(node, 'Name');
  const own: RemoteLayer[] =
    name === undefined
      ? []
      : [
          {
            kind: 'ogc-wms',
            name,
            title: textOf(node, 'Title'),
            description: textOf(node, 'Abstract'),
            srid,
            extent: extentOf(geographicBox(node)),
          },
        ];
  return [...own, ...children(node, 'Layer').flatMap((layer) => mapLayers(layer, srid))];
}

function geographicBox(node: XmlNode): Box | undefined {
  const box = child(node, 'EX_GeographicBoundingBox');
  const sides = ['westBoundLongitude', 'southBoundLatitude', 'eastBoundLongitude', 'northBoundLatitude'];
  const old = child(node, 'LatLonBoundingBox');
  return (
    numbers(sides.map((side) => textOf(box, side))) ??
    numbers(['minx', 'miny', 'maxx', 'maxy'].map((side) => attribute(old, side)))
  );
}

function tileLayer(node: XmlNode): RemoteLayer {
  return {
    kind: 'ogc-wmts',
    name: textOf(node, 'Identifier') ?? '',
    title: textOf(node, 'Title'),
    description: textOf(node, 'Abstract'),
    layerType: textOf(node, 'TileMatrixSetLink', 'TileMatrixSet'),
    extent: extentOf(cornersOf(child(node, 'WGS84BoundingBox'))),
  };
}

function cornersOf(box: XmlNode): Box | undefined {
  const corners = ['LowerCorner', 'UpperCorner'].flatMap((corner) =>
    (textOf(box, corner) ?? '').split(/\s+/),
  );
  return numbers(corners);
}

function numbers(texts: readonly (string | undefined)[]): Box | undefined {
  const values = texts.map((text) => (text === undefined || text === '' ? Number.NaN : Number(text)));
  return values.length === 4 && values.every(Number.isFinite) ? (values as unknown as Box) : undefined;
}

function extentOf(box: Box | undefined) {
  return box ? { box, srid: 4326 } : undefined;
}
