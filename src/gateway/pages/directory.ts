import type { PageLink } from './links.js';

/** Members of GeoServices documents that name child resources. */
interface Directory {
  readonly folders?: readonly string[];
  readonly services?: readonly { readonly name: string; readonly type: string }[];
  readonly tasks?: readonly string[];
  readonly layers?: readonly Resource[];
  readonly tables?: readonly Resource[];
  readonly capabilities?: string;
  readonly type?: string;
}

interface Resource {
  readonly id: number;
  readonly name: string;
}

const ROOT = '/rest/services';

/** Viewable resources for each kind of server, with a query that returns something. */
const RESOURCES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  FeatureServer: { 'All layers': 'layers' },
  MapServer: { 'All layers': 'layers', Legend: 'legend' },
  ImageServer: { Statistics: 'statistics', 'Key properties': 'keyProperties', Legend: 'legend' },
  VectorTileServer: { Style: 'resources/styles/root.json' },
};
const FIRST_RECORDS = 'query?where=1%3D1&outFields=*&returnGeometry=false&resultRecordCount=20';

/** Operations with a form, for each kind of server and of layer. */
const OPERATIONS: Readonly<Record<string, readonly string[]>> = {
  FeatureServer: ['query', 'queryDomains'],
  MapServer: ['export', 'identify', 'find'],
  ImageServer: ['exportImage', 'identify', 'getSamples', 'query'],
  GeocodeServer: ['findAddressCandidates', 'suggest', 'reverseGeocode', 'geocodeAddresses'],
  GeometryServer: ['project', 'buffer', 'simplify', 'union', 'intersect', 'areasAndLengths', 'distance'],
  'FeatureServer layer': [
    ...['query', 'queryRelatedRecords', 'queryTopFeatures', 'queryBins', 'queryDateBins', 'queryH3'],
    ...['generateRenderer', 'validateSQL'],
  ],
  'MapServer layer': ['query', 'generateRenderer'],
};

const REPLICAS = ['createReplica', 'extractChanges', 'synchronizeReplica', 'unRegisterReplica'];
const ATTACHMENTS = ['addAttachment', 'updateAttachment', 'deleteAttachments'];
const EDITS = ['applyEdits', 'addFeatures', 'updateFeatures', 'deleteFeatures', 'calculate'];

const EDITABLE = /\b(Editing|Create|Update)\b/;

/** Whether the document of a layer says that its features can be edited. */
function mayEdit(path: string, capabilities = ''): boolean {
  return /\/FeatureServer\/\d+$/.test(path) && EDITABLE.test(capabilities);
}

/** Operations of a resource: a service, or a layer with features. */
function listOperations(path: string, type: string | undefined): readonly string[] {
  const [, server, layer] = /\/(\w+Server)(\/\d+)?$/.exec(path) ?? [];
  if (layer !== undefined && type !== 'Feature Layer' && type !== 'Table') return [];
  const name = layer === undefined ? server : `${server} layer`;
  return name !== undefined && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name]! : [];
}

/** Links from a GeoServices document to its child resources, like the services directory of ArcGIS. */
export function directoryLinks(baseUrl: string, path: string, document: unknown): PageLink[] {
  if (!path.startsWith(ROOT) || typeof document !== 'object' || document === null) return [];
  const { folders, services, layers, tables, type, capabilities, tasks } = document as Directory;
  const here = `${baseUrl}${path}`;
  const linkTo = (href: string, title: string): PageLink => ({
    href,
    rel: 'child',
    type: 'text/html',
    title,
  });
  const server = path.split('/').at(-1)!;
  return [
    ...toList(folders).map((name) => linkTo(`${baseUrl}${ROOT}/${encodeURIComponent(name)}`, name)),
    ...toList(services).map((one) =>
      linkTo(`${baseUrl}${ROOT}/${namePath(one.name)}/${one.type}`, `${one.name} (${one.type})`),
    ),
    ...[...toList(layers), ...toList(tables)]
      .filter(({ id }) => /(?:Feature|Map)Server$/.test(path) && Number.isInteger(id))
      .map(({ id, name }) => linkTo(`${here}/${id}`, `${name} (${id})`)),
    ...Object.entries(Object.hasOwn(RESOURCES, server) ? RESOURCES[server]! : {}).map(([title, name]) =>
      linkTo(`${here}/${name}`, title),
    ),
    ...(server === 'GPServer'
      ? toList(tasks).map((name) => linkTo(`${here}/${encodeURIComponent(name)}`, name))
      : []),
    ...(server === 'FeatureServer' && EDITABLE.test(capabilities ?? '')
      ? REPLICAS.map((name) => linkTo(`${here}/${name}`, `Form: ${name}`))
      : []),
    ...(/\/FeatureServer\/\d+\/[^/]+\/attachments$/.test(path)
      ? ATTACHMENTS.map((name) => linkTo(`${here.slice(0, here.lastIndexOf('/'))}/${name}`, `Form: ${name}`))
      : []),
    ...(type === 'Feature Layer' || type === 'Table'
      ? [linkTo(`${here}/${FIRST_RECORDS}`, 'First features')]
      : []),
    ...listOperations(path, type).map((name) => linkTo(`${here}/${name}`, `Form: ${name}`)),
    ...(mayEdit(path, capabilities) ? EDITS.map((name) => linkTo(`${here}/${name}`, `Form: ${name}`)) : []),
  ];
}

/** The name of a layer, whose path ends with its number. */
export function findDirectoryLayerTitle(path: string, name: unknown): string | undefined {
  const isLayer = path.startsWith(ROOT) && /\/(?:Feature|Map)Server\/\d+$/.test(path);
  return isLayer && typeof name === 'string' && name !== '' ? name : undefined;
}

const toList = <T>(value: readonly T[] | undefined): readonly T[] => (Array.isArray(value) ? value : []);

/** Services in folders have the name of the folder before theirs. */
const namePath = (name: string) => name.split('/').map(encodeURIComponent).join('/');
