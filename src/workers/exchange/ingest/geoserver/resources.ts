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
import { type Json, object } from '../json.js';
import { entriesOf, flagOf, listOf, numberOf, textOf, textsOf } from './documents.js';

/** Resources of the REST API, each from its own document. */

/** Parameters of stores that say where data lies; others may hold secrets. */
const PLACES = new Set(['host', 'port', 'database', 'schema', 'dbtype', 'url', 'namespace']);

export function storeOf(
  kind: GeoServerStore['kind'],
  workspace: string,
  name: string,
  store: Json,
): GeoServerStore {
  const pairs = [...entriesOf(store, 'connectionParameters')].filter(([key]) => PLACES.has(key));
  const url = textOf(store['url']);
  if (url !== undefined) pairs.push(['url', url]);
  return {
    kind,
    workspace,
    name,
    type: textOf(store['type']),
    isEnabled: flagOf(store['enabled'], true),
    description: textOf(store['description']),
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

export function featureTypeOf(place: ResourcePlace, type: Json): GeoServerResource {
  return {
    ...commonOf('featureType', place, type),
    attributes: listOf(type, 'attributes', 'attribute').flatMap(attributeOf),
    filter: textOf(type['cqlFilter']),
    bands: [],
  };
}

export function coverageOf(place: ResourcePlace, coverage: Json): GeoServerResource {
  return {
    ...commonOf('coverage', place, coverage),
    attributes: [],
    filter: undefined,
    bands: listOf(coverage, 'dimensions', 'coverageDimension').flatMap(({ name }) => textOf(name) ?? []),
  };
}

function commonOf(kind: GeoServerResource['kind'], place: ResourcePlace, resource: Json) {
  return {
    kind,
    ...place,
    nativeName: textOf(resource['nativeName']),
    title: textOf(resource['title']),
    abstract: textOf(resource['abstract']) ?? textOf(resource['description']),
    keywords: textsOf(resource, 'keywords', 'string').map(keywordOf),
    srs: textOf(resource['srs']),
    isEnabled: flagOf(resource['enabled'], true),
    box84: boxOf(object(resource['latLonBoundingBox'])),
    dimensions: dimensionsOf(resource),
  };
}

/** A keyword may carry its language and vocabulary: `river\@language=en\;\@vocabulary=INSPIRE\;`. */
function keywordOf(keyword: string): string {
  return keyword.replace(/\\@(language|vocabulary)=.*$/s, '');
}

/** Dimensions that are switched on: their entries have keys such as `time`, `elevation`, `custom_dimension_DEPTH`. */
function dimensionsOf(resource: Json): string[] {
  return listOf(resource, 'metadata', 'entry').flatMap((entry) => {
    const info = object(entry['dimensionInfo']);
    return flagOf(info['enabled'], false) ? (textOf(entry['@key']) ?? []) : [];
  });
}

function boxOf(box: Json): Box | undefined {
  const sides = ['minx', 'miny', 'maxx', 'maxy'].map((side) => numberOf(box[side]));
  return sides.every((side) => side !== undefined) ? (sides as unknown as Box) : undefined;
}

function attributeOf(attribute: Json): GeoServerAttribute[] {
  const name = textOf(attribute['name']);
  if (name === undefined) return [];
  return [{ name, binding: textOf(attribute['binding']), isNullable: flagOf(attribute['nillable'], true) }];
}

/** `listed` is its name in the list of layers, which may lead with its workspace. */
export function layerOf(
  listed: string,
  layer: Json,
  resources: ReadonlyMap<string, GeoServerResource>,
): GeoServerLayer {
  const shown = object(layer['resource']);
  const id = textOf(shown['name']) ?? listed;
  const { workspace, name } = partsOf(id.includes(':') ? id : listed);
  const attribution = object(layer['attribution']);
  const defaultStyle = styleId(object(layer['defaultStyle']));
  return {
    id: geoServerId(workspace, name),
    workspace,
    name,
    type: textOf(layer['type']),
    isEnabled: flagOf(layer['enabled'], true),
    defaultStyle,
    styles: listOf(layer, 'styles', 'style')
      .flatMap((style) => styleId(style) ?? [])
      .filter((style) => style !== defaultStyle),
    attribution: textOf(attribution['title']),
    attributionUrl: textOf(attribution['href']),
    resource: resources.get(geoServerId(workspace, name)),
  };
}

/** Layers name styles by their name, with the workspace beside it or before it. */
function styleId(style: Json): string | undefined {
  const name = textOf(style['name']);
  if (name === undefined) return undefined;
  return name.includes(':') ? name : geoServerId(textOf(style['workspace']), name);
}

function partsOf(id: string): { workspace: string | undefined; name: string } {
  const at = id.indexOf(':');
  return at < 0 ? { workspace: undefined, name: id } : { workspace: id.slice(0, at), name: id.slice(at + 1) };
}

export function groupOf(workspace: string | undefined, name: string, group: Json): GeoServerGroup {
  const styles = object(group['styles'])['style'];
  const list = Array.isArray(styles) ? styles : [styles];
  return {
    id: geoServerId(workspace, name),
    workspace,
    name,
    title: textOf(group['title']),
    abstract: textOf(group['abstractTxt']),
    mode: textOf(group['mode']),
    members: listOf(group, 'publishables', 'published').flatMap((one, i) => {
      const id = textOf(one['name']);
      if (id === undefined) return [];
      const kind = textOf(one['@type']) === 'layerGroup' ? 'layerGroup' : 'layer';
      // An entry that is no object stands for the style of the layer itself.
      return [{ kind, id, style: styleId(object(list[i])) } as const];
    }),
  };
}

export function styleOf(workspace: string | undefined, name: string, style: Json): GeoServerStyle {
  return {
    id: geoServerId(workspace, name),
    workspace,
    name,
    format: textOf(style['format']) ?? 'sld',
    languageVersion: textOf(object(style['languageVersion'])['version']),
    fileName: textOf(style['filename']),
    content: undefined,
  };
}
