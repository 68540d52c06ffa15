import type {
  GeoServerAttribute,
  GeoServerGroup,
  GeoServerLayer,
  GeoServerResource,
  GeoServerStore,
  GeoServerStyle,
} from '../../../../core/exchange/geoserver.js';
import { geoServerId } from '../../../../core/exchange/geoserver.js';
import type { Box } from '../../../../core/geometry/box.js';
import { object, type RemoteJson } from '../json.js';
import {
  listRestObjects,
  listRestPairs,
  listRestStrings,
  parseRestFlag,
  parseRestNumber,
  parseRestString,
} from './documents.js';

/** Resources of the REST API, each from its own document. */

/** Store parameters that state the location of data. Other parameters can contain secrets. */
const PLACES = new Set(['host', 'port', 'database', 'schema', 'dbtype', 'url', 'namespace']);

export function parseGeoServerStore(
  kind: GeoServerStore['kind'],
  workspace: string,
  name: string,
  store: RemoteJson,
): GeoServerStore {
  const pairs = [...listRestPairs(store, 'connectionParameters')].filter(([key]) => PLACES.has(key));
  const url = parseRestString(store['url']);
  if (url !== undefined) pairs.push(['url', url]);
  return {
    kind,
    workspace,
    name,
    type: parseRestString(store['type']),
    isEnabled: parseRestFlag(store['enabled'], true),
    description: parseRestString(store['description']),
    parameters: Object.fromEntries(pairs.map(([key, value]) => [key, withoutSecrets(value)])),
  };
}

/** A place without the user, the password and the parameters of its URL. */
function withoutSecrets(place: string): string {
  return place.replace(/\/\/[^/@\s]*@/g, '//').replace(/\?.*$/s, '');
}

export interface ResourcePlace {
  readonly workspace: string;
  readonly store: string;
  readonly name: string;
}

export function parseFeatureType(place: ResourcePlace, type: RemoteJson): GeoServerResource {
  return {
    ...readCommonMembers('featureType', place, type),
    attributes: listRestObjects(type, 'attributes', 'attribute').flatMap(parseAttribute),
    filter: parseRestString(type['cqlFilter']),
    bands: [],
  };
}

export function parseCoverage(place: ResourcePlace, coverage: RemoteJson): GeoServerResource {
  return {
    ...readCommonMembers('coverage', place, coverage),
    attributes: [],
    filter: undefined,
    bands: listRestObjects(coverage, 'dimensions', 'coverageDimension').flatMap(
      ({ name }) => parseRestString(name) ?? [],
    ),
  };
}

function readCommonMembers(kind: GeoServerResource['kind'], place: ResourcePlace, resource: RemoteJson) {
  return {
    kind,
    ...place,
    nativeName: parseRestString(resource['nativeName']),
    title: parseRestString(resource['title']),
    abstract: parseRestString(resource['abstract']) ?? parseRestString(resource['description']),
    keywords: listRestStrings(resource, 'keywords', 'string').map(formatKeyword),
    srs: parseRestString(resource['srs']),
    isEnabled: parseRestFlag(resource['enabled'], true),
    box84: parseBox(object(resource['latLonBoundingBox'])),
    dimensions: parseDimensions(resource),
  };
}

/** A keyword may carry its language and vocabulary: `river\@language=en\;\@vocabulary=INSPIRE\;`. */
function formatKeyword(keyword: string): string {
  return keyword.replace(/\\@(language|vocabulary)=.*$/s, '');
}

/** Dimensions that are switched on: their entries have keys such as `time`, `elevation`, `custom_dimension_DEPTH`. */
function parseDimensions(resource: RemoteJson): string[] {
  return listRestObjects(resource, 'metadata', 'entry').flatMap((entry) => {
    const info = object(entry['dimensionInfo']);
    return parseRestFlag(info['enabled'], false) ? (parseRestString(entry['@key']) ?? []) : [];
  });
}

function parseBox(box: RemoteJson): Box | undefined {
  const sides = ['minx', 'miny', 'maxx', 'maxy'].map((side) => parseRestNumber(box[side]));
  return sides.every((side) => side !== undefined) ? (sides as unknown as Box) : undefined;
}

function parseAttribute(attribute: RemoteJson): GeoServerAttribute[] {
  const name = parseRestString(attribute['name']);
  if (name === undefined) return [];
  return [
    {
      name,
      binding: parseRestString(attribute['binding']),
      isNullable: parseRestFlag(attribute['nillable'], true),
    },
  ];
}

/** `listed` is its name in the list of layers, which may lead with its workspace. */
export function parseGeoServerLayer(
  listed: string,
  layer: RemoteJson,
  resources: ReadonlyMap<string, GeoServerResource>,
): GeoServerLayer {
  const shown = object(layer['resource']);
  const id = parseRestString(shown['name']) ?? listed;
  const { workspace, name } = buildParts(id.includes(':') ? id : listed);
  const attribution = object(layer['attribution']);
  const defaultStyle = styleId(object(layer['defaultStyle']));
  return {
    id: geoServerId(workspace, name),
    workspace,
    name,
    type: parseRestString(layer['type']),
    isEnabled: parseRestFlag(layer['enabled'], true),
    defaultStyle,
    styles: listRestObjects(layer, 'styles', 'style')
      .flatMap((style) => styleId(style) ?? [])
      .filter((style) => style !== defaultStyle),
    attribution: parseRestString(attribution['title']),
    attributionUrl: parseRestString(attribution['href']),
    resource: resources.get(geoServerId(workspace, name)),
  };
}

/** Layers reference styles by name, with the workspace in a separate member or as a prefix. */
function styleId(style: RemoteJson): string | undefined {
  const name = parseRestString(style['name']);
  if (name === undefined) return undefined;
  return name.includes(':') ? name : geoServerId(parseRestString(style['workspace']), name);
}

function buildParts(id: string): { workspace: string | undefined; name: string } {
  const at = id.indexOf(':');
  return at < 0 ? { workspace: undefined, name: id } : { workspace: id.slice(0, at), name: id.slice(at + 1) };
}

export function parseLayerGroup(
  workspace: string | undefined,
  name: string,
  group: RemoteJson,
): GeoServerGroup {
  const styles = object(group['styles'])['style'];
  const list = Array.isArray(styles) ? styles : [styles];
  return {
    id: geoServerId(workspace, name),
    workspace,
    name,
    title: parseRestString(group['title']),
    abstract: parseRestString(group['abstractTxt']),
    mode: parseRestString(group['mode']),
    members: listRestObjects(group, 'publishables', 'published').flatMap((one, i) => {
      const id = parseRestString(one['name']);
      if (id === undefined) return [];
      const kind = parseRestString(one['@type']) === 'layerGroup' ? 'layerGroup' : 'layer';
      // An entry that is not an object means the style of the layer itself.
      return [{ kind, id, style: styleId(object(list[i])) } as const];
    }),
  };
}

export function parseGeoServerStyle(
  workspace: string | undefined,
  name: string,
  style: RemoteJson,
): GeoServerStyle {
  return {
    id: geoServerId(workspace, name),
    workspace,
    name,
    format: parseRestString(style['format']) ?? 'sld',
    languageVersion: parseRestString(object(style['languageVersion'])['version']),
    fileName: parseRestString(style['filename']),
    content: undefined,
  };
}
