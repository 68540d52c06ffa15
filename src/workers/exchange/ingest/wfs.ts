import { open, readFile } from 'node:fs/promises';
import type { Position } from 'geojson';
import { TaskFailure } from '../../../core/errors/failure.js';
import type {
  AppendTask,
  WfsGml,
  WfsGmlTask,
  WfsPage,
  WfsPageTask,
  WfsPlan,
  WfsPlanTask,
  WfsQuery,
} from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import { LIMITS } from '../../../core/kit/limits.js';
import {
  findOgcException,
  findXmlAttribute,
  findXmlText,
  getXmlChild,
  listXmlChildren,
  parseXmlDocument,
  type XmlNode,
} from '../../files/xml.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { parseCapabilities } from './discover/capabilities.js';
import { capabilitiesUrl, removeOgcParameters, wellAnswered } from './discover/index.js';
import { download, get, type RemoteAccess } from './http.js';
import {
  documentText,
  object,
  parseObject,
  parseSrid,
  type RemoteJson,
  readJsonInteger,
  string,
} from './json.js';
import {
  type AppendedPage,
  append,
  parsePageFeatures,
  propertyIn,
  splitFeature,
  splitFeatures,
} from './pages.js';

/** Task `ingest.wfsPlan`: returns the contents of a WFS. */
export async function planWfs(task: WfsPlanTask, asking: RemoteAccess): Promise<WfsPlan> {
  const url = capabilitiesUrl(task.url, 'WFS', task.version ?? '2.0.0');
  const document = parseXmlDocument(wellAnswered(await get({ ...task, url }, asking), url).bytes);
  const exception = findOgcException(document);
  if (exception !== undefined) throw refused(`it returned: ${exception}`);
  const service = parseCapabilities(removeOgcParameters(task.url), document.name, document.root);
  if (service?.kind !== 'ogc-wfs') throw refused('it is not a WFS');
  const version = findXmlAttribute(document.root, 'version') ?? '';
  if (!/^2\.0\./.test(version)) throw refused(`it has version ${version.slice(0, 10)} of WFS`);
  return { version, types: service.layers, geoJson: geoJsonFormat(document.root) };
}

/** Returns the server's name for GeoJSON from the formats of GetFeature. */
function geoJsonFormat(root: XmlNode): string | undefined {
  const operation = listXmlChildren(getXmlChild(root, 'OperationsMetadata'), 'Operation').find(
    (one) => findXmlAttribute(one, 'name') === 'GetFeature',
  );
  const parameter = listXmlChildren(operation ?? {}, 'Parameter').find(
    (one) => findXmlAttribute(one, 'name')?.toLowerCase() === 'outputformat',
  );
  const holder = parameter && getXmlChild(parameter, 'AllowedValues');
  const values = [
    ...listXmlChildren(holder ?? {}, 'Value'),
    ...listXmlChildren(parameter ?? {}, 'Value'),
  ].map((one) => findXmlText(one));
  return values.find((value) => /^(application\/(geo\+)?json|geojson|json)\b/i.test(value ?? ''));
}

/** Task `ingest.wfsCount`: returns the number of features according to the server. */
export async function countWfs(task: WfsQuery, asking: RemoteAccess): Promise<number | null> {
  const url = featureUrl(task, { RESULTTYPE: 'hits' });
  const document = parseXmlDocument(wellAnswered(await get({ ...task, url }, asking), url).bytes);
  const exception = findOgcException(document);
  if (exception !== undefined) throw refused(`it returned: ${exception}`);
  const text =
    findXmlAttribute(document.root, 'numberMatched') ?? findXmlAttribute(document.root, 'numberOfFeatures');
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}

/** Task `ingest.wfsPage`: appends a page of GeoJSON to a file. */
export async function readWfs(task: WfsPageTask, asking: RemoteAccess): Promise<WfsPage> {
  const url = featureUrl(task, { ...paging(task), OUTPUTFORMAT: task.format });
  const answer = wellAnswered(await get({ ...task, url }, asking), url);
  if (!/json/.test(answer.mediaType)) throw refused(reasonIn(answer.bytes, answer.mediaType));
  const page = parseObject(answer.bytes);
  const features = parsePageFeatures(page);
  const srid = parseSrid(string(object(object(page['crs'])['properties'])['name']));
  if (srid === undefined) requireDegrees(features);
  const written = await append(task.output, task.offset, splitFeatures(documentText(answer.bytes)));
  const matched = readJsonInteger(page['numberMatched']) ?? readJsonInteger(page['totalFeatures']);
  return { ...written, returned: features.length, matched, ...(srid === undefined ? {} : { srid }) };
}

function reasonIn(bytes: Buffer, mediaType: string): string {
  try {
    return `it returned: ${findOgcException(parseXmlDocument(bytes)) ?? mediaType}`;
  } catch {
    return `it returned ${mediaType || 'no media type'}`;
  }
}

/** GeoJSON that names no CRS has longitudes and latitudes. */
function requireDegrees(features: readonly RemoteJson[]): void {
  for (const { geometry } of features) {
    let at: unknown = object(geometry)['coordinates'];
    while (Array.isArray(at) && Array.isArray(at[0])) at = at[0];
    const [x = 0, y = 0] = (at ?? []) as Position;
    if (Math.abs(x) > 360 || Math.abs(y) > 90)
      throw refused('its GeoJSON names no CRS, and its coordinates are not longitudes and latitudes');
  }
}

/** Task `ingest.wfsGml`: downloads a page of GML to the disk, and returns its metadata. */
export async function downloadGml(task: WfsGmlTask, asking: RemoteAccess): Promise<WfsGml> {
  const url = featureUrl(task, paging(task));
  await download({ ...task, url, path: task.path, maxBytes: EXCHANGE_LIMITS.remotePageBytes }, asking);
  const head = await readHead(task.path);
  if (/<(?:\w+:)?(?:ServiceExceptionReport|ExceptionReport)\b/.test(head))
    throw refused(reasonIn(await readFile(task.path), 'an OGC exception report without a message'));
  const [, root = ''] = /<((?:\w+:)?FeatureCollection\b[^>]*)>/.exec(head) ?? [];
  if (root === '') throw refused('a page is not a FeatureCollection of GML');
  const said = (name: string) => {
    const [, value] = new RegExp(`\\b${name}="(\\d+)"`).exec(root) ?? [];
    return value === undefined ? undefined : Number(value);
  };
  return {
    returned: said('numberReturned') ?? said('numberOfFeatures'),
    matched: said('numberMatched'),
    isEmpty: !(await holdsMembers(task.path)),
  };
}

async function readHead(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(65_536), 0, 65_536, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function holdsMembers(path: string): Promise<boolean> {
  return /<(?:\w+:)?(?:member|featureMembers?)\b/.test(await readFile(path, 'utf8'));
}

/**
 * Task `ingest.append`: appends features that GDAL has read from a page. Their ids are the values of an attribute.
 */
export async function appendRead({ path, output, offset, idProperty }: AppendTask): Promise<AppendedPage> {
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  const features = lines.map(splitFeature);
  const { ids: _, ...written } = await append(
    output,
    offset,
    features.map(({ id, ...feature }) => feature),
  );
  const ids = features.flatMap(({ properties }) => propertyIn(properties, idProperty) ?? []);
  return { ...written, ids };
}

function paging({ startIndex, count }: WfsQuery): Record<string, string> {
  return { STARTINDEX: String(startIndex), COUNT: String(count) };
}

function featureUrl(
  { url: address, version, typeName }: WfsQuery,
  more: Readonly<Record<string, string>>,
): string {
  const url = new URL(removeOgcParameters(address));
  const parameters = {
    SERVICE: 'WFS',
    VERSION: version,
    REQUEST: 'GetFeature',
    TYPENAMES: typeName,
    ...more,
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  if (url.href.length > LIMITS.urlBytes) throw new TaskFailure('invalid-input', 'The URL is too long.');
  return url.href;
}
