import { TaskFailure } from '../../../../core/errors/failure.js';
import type { Discovery, RemoteRequest, RemoteService } from '../../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { findOgcException, parseXmlDocument } from '../../../files/xml.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import { get, type RemoteAccess, type RemoteAnswer } from '../http.js';
import { parseLinks, parseObject, type RemoteJson } from '../json.js';
import { parseCapabilities as serviceOfCapabilities } from './capabilities.js';
import { parseGeoService, parseServiceCatalog, parseServiceLayer } from './geoservices.js';
import { findRelationLink, isLanding, listApiCollections, parseLandingPage } from './ogc-api.js';

/** Task `ingest.discover`. Fails with `source-unreadable` if no known service is found. */
export async function discoverRemote(request: RemoteRequest, asking: RemoteAccess): Promise<Discovery> {
  const end = Date.now() + request.timeoutMs;
  const { origin } = new URL(request.url);
  const read: Read = async (url, accept) => {
    const left = end - Date.now();
    if (left <= 0)
      throw new TaskFailure(
        'deadline-exceeded',
        `${new URL(url).host} did not respond in time. Retry later.`,
      );
    // Credentials are for the server that was named, wherever its links lead.
    const headers = { accept, ...(new URL(url).origin === origin ? request.headers : {}) };
    return wellAnswered(await get({ ...request, url, timeoutMs: left, headers }, asking), url);
  };
  if (/\/rest\/services(\/|$)|\/(Feature|Map|Image)Server(\/\d+)?$/i.test(new URL(request.url).pathname))
    return ofGeoServices(request.url, read);
  return ofOpenServices(request.url, read);
}

type Read = (url: string, accept: string) => Promise<RemoteAnswer>;

const JSON_TYPES = 'application/json';
const XML_TYPES = 'application/xml, text/xml;q=0.9';

/** Fails for responses without success. */
export function wellAnswered(answer: RemoteAnswer, url: string): RemoteAnswer {
  const { host } = new URL(url);
  if (answer.status >= 500 || answer.status === 429)
    throw new TaskFailure('store-unavailable', `${host} returned ${answer.status}.`);
  if (answer.status !== 200) throw refused(`${host} returned ${answer.status}`);
  return answer;
}

async function ofGeoServices(address: string, read: Read): Promise<Discovery> {
  const url = new URL(address);
  url.search = '';
  const [, service = url.href, layer] = /^(.*Server)(?:\/(\d+))?\/?$/i.exec(url.href) ?? [];
  const resource = await readResource(
    layer === undefined ? url.href.replace(/\/$/, '') : service,
    address,
    read,
  );
  if (/Server\/?$/i.test(service)) {
    const found = parseGeoService(service.replace(/\/$/, ''), resource);
    if (layer === undefined) return { url: found.url, isCatalog: false, services: [found], warnings: [] };
    const own = await readResource(`${service}/${layer}`, address, read);
    const layers = parseServiceLayer(own, found.srid);
    return { url: `${service}/${layer}`, isCatalog: false, services: [{ ...found, layers }], warnings: [] };
  }
  return ofCatalog(url.href.replace(/\/$/, ''), resource, (folder) => readResource(folder, address, read));
}

async function ofCatalog(
  url: string,
  catalog: RemoteJson,
  readFolder: (url: string) => Promise<RemoteJson>,
): Promise<Discovery> {
  const { services, folders } = parseServiceCatalog(url, catalog);
  const warnings: string[] = [];
  for (const folder of folders.slice(0, EXCHANGE_LIMITS.remoteFolders)) {
    const root = url.replace(/(\/rest\/services).*$/i, '$1');
    services.push(...parseServiceCatalog(url, await readFolder(`${root}/${folder}`)).services);
  }
  if (folders.length > EXCHANGE_LIMITS.remoteFolders)
    warnings.push(`The catalog has ${folders.length} folders; ${EXCHANGE_LIMITS.remoteFolders} were read.`);
  return { url, isCatalog: true, services, warnings };
}

/** A resource as JSON; parameters of the address, such as a token, go along. */
async function readResource(resource: string, address: string, read: Read): Promise<RemoteJson> {
  const url = new URL(resource);
  url.search = new URL(address).search;
  url.searchParams.set('f', 'json');
  const document = parseObject((await read(url.href, JSON_TYPES)).bytes);
  requireNoError(document);
  return document;
}

/** GeoServices return failures with status 200 and an error in the body. */
export function requireNoError(document: RemoteJson): void {
  const { error } = document;
  if (typeof error !== 'object' || error === null) return;
  const { message, code } = error as RemoteJson;
  throw refused(`it returned ${String(code).slice(0, 10)}: ${String(message).slice(0, 300)}`);
}

async function ofOpenServices(address: string, read: Read): Promise<Discovery> {
  const url = new URL(address);
  const service = queryValue(url, 'service');
  if (service !== undefined) return ofCapabilities(address, [service], read);
  const answer = await read(address, `${JSON_TYPES}, ${XML_TYPES};q=0.5`).catch(later);
  if (answer && /xml/.test(answer.mediaType)) {
    const { name, root } = parseXmlDocument(answer.bytes);
    const found = serviceOfCapabilities(address, name, root);
    if (found) return { url: address, isCatalog: false, services: [found], warnings: [] };
  }
  if (answer && /json/.test(answer.mediaType)) {
    const document = parseObject(answer.bytes);
    const links = parseLinks(document, address);
    if (isLanding(document, links)) return ofLanding(address, document, read);
  }
  return ofCapabilities(address, ['WFS', 'WMS', 'WMTS'], read);
}

/**
 * Handles the error of a request that the server may not support: other requests follow. A refusal by the allow list
 * ends the discovery.
 */
function later(error: unknown): undefined {
  if (error instanceof TaskFailure && /returned \d/.test(error.message)) return undefined;
  throw error;
}

async function ofLanding(url: string, landing: RemoteJson, read: Read): Promise<Discovery> {
  const data = findRelationLink(parseLinks(landing, url), 'data')?.href;
  const inline = listApiCollections(landing);
  const warnings: string[] = [];
  const collections =
    inline.length > 0 || data === undefined ? inline : await allCollections(data, read, warnings);
  const services = parseLandingPage(data ?? url, landing, collections).map((one) => ({ ...one, url }));
  if (services.length === 0)
    warnings.push('The API has no collections of features, tiles, maps or STAC items.');
  return { url, isCatalog: services.length > 1, services, warnings };
}

/** Lists of collections can also have several pages. */
async function allCollections(first: string, read: Read, warnings: string[]): Promise<RemoteJson[]> {
  const collections: RemoteJson[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined = first; next !== undefined; ) {
    if (seen.has(next) || seen.size === EXCHANGE_LIMITS.remoteFolders) {
      warnings.push(
        seen.has(next)
          ? 'The list of collections repeats a page. The pages after it are not read.'
          : `The list of collections has more than ${seen.size} pages. Further pages are not read.`,
      );
      break;
    }
    seen.add(next);
    const page: RemoteJson = parseObject((await read(next, JSON_TYPES)).bytes);
    collections.push(...listApiCollections(page));
    const following: string | undefined = findRelationLink(parseLinks(page, next), 'next')?.href;
    next =
      following !== undefined && new URL(following).origin === new URL(first).origin ? following : undefined;
  }
  return collections;
}

async function ofCapabilities(address: string, kinds: readonly string[], read: Read): Promise<Discovery> {
  const services: RemoteService[] = [];
  const reasons: string[] = [];
  for (const kind of kinds) {
    const url = capabilitiesUrl(address, kind);
    try {
      const document = parseXmlDocument((await read(url, XML_TYPES)).bytes);
      const found = serviceOfCapabilities(removeOgcParameters(address), document.name, document.root);
      const isSame = found && services.some((one) => one.kind === found.kind);
      if (found && !isSame) services.push(found);
      else if (!found)
        reasons.push(`${kind}: ${findOgcException(document) ?? `it returned a document ${document.name}`}`);
    } catch (error) {
      if (!(error instanceof TaskFailure) || error.code !== 'source-unreadable') throw error;
      reasons.push(`${kind}: ${error.message}`);
    }
  }
  if (services.length === 0)
    throw refused(`no service was found there (${reasons.join('; ').slice(0, 600)})`);
  return { url: removeOgcParameters(address), isCatalog: services.length > 1, services, warnings: [] };
}

/** Returns the URL without the parameters of OGC services. Other parameters, such as `map`, remain. */
export function removeOgcParameters(address: string): string {
  const url = new URL(address);
  for (const name of [...url.searchParams.keys()])
    if (/^(service|request|version|acceptversions)$/i.test(name)) url.searchParams.delete(name);
  return url.href;
}

export function capabilitiesUrl(address: string, service: string, version?: string): string {
  const url = new URL(removeOgcParameters(address));
  url.searchParams.set('SERVICE', service.toUpperCase());
  url.searchParams.set('REQUEST', 'GetCapabilities');
  if (version !== undefined) url.searchParams.set('VERSION', version);
  return url.href;
}

function queryValue(url: URL, name: string): string | undefined {
  const [, value] = [...url.searchParams].find(([key]) => key.toLowerCase() === name) ?? [];
  return value !== undefined && /^w(fs|ms|mts)$/i.test(value) ? value : undefined;
}
