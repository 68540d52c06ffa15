import { badParameter } from '../../../core/errors/errors.js';
import type { Box } from '../../../core/geometry/box.js';
import type { Exchange, Operation } from '../../../core/http/operation.js';
import { pathString } from '../../../core/http/params.js';
import { common, readingOperation } from '../features/feature-server.js';
import { member } from '../features/query-members.js';
import { type Members, readChoiceMember, readTextMember } from '../members.js';
import { textElement, writeOgcElement, xmlReply } from '../ogc/ogc-requests.js';
import { mapChoice } from './map-choice.js';
import { type DrawnLayer, listMapLayers, type MapDeps } from './map-layers.js';

/**
 * Maps as KML (OGC 12-007r2): a document of links that reload after each change of the view, and an image of the
 * visible area.
 */

const PATH = '/rest/services/{serviceId}/MapServer/generateKml';
const KML = 'application/vnd.google-earth.kml+xml';
const NAMESPACE = 'http://www.opengis.net/kml/2.2';
const OPTIONS = ['composite', 'separateImage'] as const;
const SIDE = 1024;
const MAX_TEXT = 1000;
const VIEW = 'bbox=[bboxWest],[bboxSouth],[bboxEast],[bboxNorth]';

const params = {
  docName: member('docName', 'Name of the document.'),
  layers: member('layers', 'Numbers of layers, separated by commas. Default: all.'),
  layerOptions: member('layerOptions', `${OPTIONS.join(' or ')}: one picture, or one of each layer.`),
  bbox: member('bbox', 'west,south,east,north in degrees. Network links send it.'),
};

export function kmlOperations(deps: MapDeps): Operation[] {
  return readingOperation({
    about: common('MapServer', 'generateKml', 'MapServer'),
    name: 'mapKml',
    path: PATH,
    params,
    pathParams: { serviceId: pathString('serviceId', 'Name of a service.') },
    summary: 'A map as KML',
    run(x, path, members) {
      const name = readTextMember(members, 'docName', MAX_TEXT) ?? path['serviceId']!;
      const all = listMapLayers(deps, x.principal, path['serviceId']!);
      const { layers } = mapChoice(all, { layers: formatNumbers(members) }, deps.visible(x.principal));
      const option = readChoiceMember(members, 'layerOptions', { values: OPTIONS, fallback: OPTIONS[0] });
      const maps = option === 'composite' ? [layers] : layers.map((layer) => [layer]);
      const bbox = readBox(members);
      const parts = maps.map((map) => (bbox ? overlay(x, map, bbox) : link(x, map)));
      const document = writeOgcElement('Document', textElement('name', name) + parts.join(''));
      return xmlReply(writeOgcElement('kml', document, { xmlns: NAMESPACE }), KML);
    },
  });
}

function formatNumbers(members: Members): string {
  const text = readTextMember(members, 'layers', MAX_TEXT);
  if (text === undefined) return 'all';
  if (!/^[\d,\s]+$/.test(text)) throw badParameter('layers', 'must be numbers of layers');
  return `show:${text}`;
}

/** The east is beyond 180 where the view crosses the antimeridian. */
function readBox(members: Members): Box | undefined {
  const text = readTextMember(members, 'bbox', MAX_TEXT);
  if (text === undefined) return undefined;
  const numbers = text.split(',').map(Number);
  const [west, south, side, north] = numbers as unknown as Box;
  const east = side < west ? side + 360 : side;
  const isWithin = numbers.length === 4 && west >= -360 && east <= 540 && south >= -90 && north <= 90;
  if (!isWithin || !(west < east && south < north))
    throw badParameter('bbox', 'must be west,south,east,north in degrees');
  return [west, south, east, north];
}

const formatTitle = (layers: readonly DrawnLayer[]) => layers.map(({ title }) => title).join(', ');
const showing = (layers: readonly DrawnLayer[]) => layers.map(({ layerId }) => layerId).join(',');

function link(x: Exchange, layers: readonly DrawnLayer[]): string {
  const query = new URLSearchParams({ layers: showing(layers), layerOptions: OPTIONS[0] });
  const href = [
    textElement('href', `${x.baseUrl}${x.path}?${query}`),
    textElement('viewRefreshMode', 'onStop'),
    textElement('viewRefreshTime', '1'),
    textElement('viewFormat', VIEW),
  ];
  return writeOgcElement(
    'NetworkLink',
    textElement('name', formatTitle(layers)) + writeOgcElement('Link', href.join('')),
  );
}

/** Image size with the aspect ratio of the box, which would otherwise be widened. */
function formatSize([west, south, east, north]: Box): string {
  const [width, height] = [east - west, north - south];
  const pixels = (side: number) => Math.max(1, Math.round((SIDE * side) / Math.max(width, height)));
  return `${pixels(width)},${pixels(height)}`;
}

function overlay(x: Exchange, layers: readonly DrawnLayer[], box: Box): string {
  const map = x.path.slice(0, -'/generateKml'.length);
  const query = new URLSearchParams({
    f: 'image',
    format: 'png32',
    transparent: 'true',
    size: formatSize(box),
    bbox: box.join(','),
    bboxSR: '4326',
    imageSR: '4326',
    layers: `show:${showing(layers)}`,
  });
  const [west, south, east, north] = box;
  const sides = { north, south, east, west };
  return writeOgcElement(
    'GroundOverlay',
    [
      textElement('name', formatTitle(layers)),
      writeOgcElement('Icon', textElement('href', `${x.baseUrl}${map}/export?${query}`)),
      writeOgcElement(
        'LatLonBox',
        Object.entries(sides)
          .map(([side, value]) => textElement(side, String(value)))
          .join(''),
      ),
    ].join(''),
  );
}
