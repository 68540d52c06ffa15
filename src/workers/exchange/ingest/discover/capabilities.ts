import type { RemoteLayer, RemoteService, SourceKind } from '../../../../core/exchange/ingest.js';
import type { Box } from '../../../../core/geometry/box.js';
import {
  findXmlAttribute,
  findXmlText,
  getXmlChild,
  listXmlChildren,
  type XmlNode,
} from '../../../files/xml.js';
import { parseSrid } from '../json.js';

/** Returns the service that WFS, WMS or WMTS capabilities describe. Undefined for other documents. */
export function parseCapabilities(url: string, name: string, root: XmlNode): RemoteService | undefined {
  switch (name) {
    case 'WFS_Capabilities':
      return service(
        'ogc-wfs',
        url,
        root,
        listXmlChildren(getXmlChild(root, 'FeatureTypeList'), 'FeatureType').map(featureType),
      );
    case 'WMS_Capabilities':
    case 'WMT_MS_Capabilities':
      return service('ogc-wms', url, root, mapLayers(getXmlChild(root, 'Capability', 'Layer')));
    case 'Capabilities':
      if (listXmlChildren(getXmlChild(root, 'Contents'), 'TileMatrixSet').length === 0) return undefined;
      return service(
        'ogc-wmts',
        url,
        root,
        listXmlChildren(getXmlChild(root, 'Contents'), 'Layer').map(tileLayer),
      );
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
  const about = getXmlChild(root, 'ServiceIdentification');
  const old = getXmlChild(root, 'Service');
  return {
    kind,
    url,
    name:
      findXmlText(about, 'Title') ??
      findXmlText(old, 'Title') ??
      findXmlText(old, 'Name') ??
      new URL(url).host,
    description: findXmlText(about, 'Abstract') ?? findXmlText(old, 'Abstract'),
    layers,
  };
}

function featureType(node: XmlNode): RemoteLayer {
  const crs = findXmlText(node, 'DefaultCRS') ?? findXmlText(node, 'DefaultSRS') ?? findXmlText(node, 'SRS');
  return {
    kind: 'ogc-wfs',
    name: findXmlText(node, 'Name') ?? '',
    title: findXmlText(node, 'Title'),
    description: findXmlText(node, 'Abstract'),
    srid: parseSrid(crs),
    extent: buildExtent(readCorners(getXmlChild(node, 'WGS84BoundingBox'))),
  };
}

/** Returns the named layers of a tree of groups. The CRSs of a group also apply to its layers. */
function mapLayers(node: XmlNode, inherited?: number): RemoteLayer[] {
  const crs = [...listXmlChildren(node, 'CRS'), ...listXmlChildren(node, 'SRS')].map((one) =>
    parseSrid(findXmlText(one)),
  );
  const srid = crs.find((one) => one !== undefined) ?? inherited;
  const name = findXmlText(node, 'Name');
  const own: RemoteLayer[] =
    name === undefined
      ? []
      : [
          {
            kind: 'ogc-wms',
            name,
            title: findXmlText(node, 'Title'),
            description: findXmlText(node, 'Abstract'),
            srid,
            extent: buildExtent(geographicBox(node)),
          },
        ];
  return [...own, ...listXmlChildren(node, 'Layer').flatMap((layer) => mapLayers(layer, srid))];
}

function geographicBox(node: XmlNode): Box | undefined {
  const box = getXmlChild(node, 'EX_GeographicBoundingBox');
  const sides = ['westBoundLongitude', 'southBoundLatitude', 'eastBoundLongitude', 'northBoundLatitude'];
  const old = getXmlChild(node, 'LatLonBoundingBox');
  return (
    numbers(sides.map((side) => findXmlText(box, side))) ??
    numbers(['minx', 'miny', 'maxx', 'maxy'].map((side) => findXmlAttribute(old, side)))
  );
}

function tileLayer(node: XmlNode): RemoteLayer {
  return {
    kind: 'ogc-wmts',
    name: findXmlText(node, 'Identifier') ?? '',
    title: findXmlText(node, 'Title'),
    description: findXmlText(node, 'Abstract'),
    layerType: findXmlText(node, 'TileMatrixSetLink', 'TileMatrixSet'),
    extent: buildExtent(readCorners(getXmlChild(node, 'WGS84BoundingBox'))),
  };
}

function readCorners(box: XmlNode): Box | undefined {
  const corners = ['LowerCorner', 'UpperCorner'].flatMap((corner) =>
    (findXmlText(box, corner) ?? '').split(/\s+/),
  );
  return numbers(corners);
}

function numbers(texts: readonly (string | undefined)[]): Box | undefined {
  const values = texts.map((text) => (text === undefined || text === '' ? Number.NaN : Number(text)));
  return values.length === 4 && values.every(Number.isFinite) ? (values as unknown as Box) : undefined;
}

function buildExtent(box: Box | undefined) {
  return box ? { box, srid: 4326 } : undefined;
}
