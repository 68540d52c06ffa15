import { createHash } from 'node:crypto';
import { notFound } from '../../core/errors/errors.js';
import { type Exchange, formatActor, type Operation, type Principal } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import { boundedCache } from '../../core/values/bounded-cache.js';
import { itemSearch, type SearchedItem } from '../../services/geoservices/item-search.js';
import {
  type CatalogueDeps,
  GEOMETRY_SERVICE,
  infoDocument,
  type ServiceEntry,
  servicesFor,
} from './catalogue-operations.js';
import { common, documentFormat, readingOperation } from './features/feature-server.js';
import { jsonReply } from './images/in-band.js';
import { CURRENT_VERSION } from './layer-documents.js';
import { GEOSERVICES_LIMITS } from './limits.js';
import { type Members, readIntegerMember, readTextMember } from './members.js';

/** The part of a portal that clients need for signing in and for finding services, which are its items. */

const ROOT = '/sharing/rest';
const OWNER = 'graticule';
const itemId = pathString('itemId', 'Id of an item.');
const about = (verb: string) => common('Sharing', verb);

/** Types of items, by those of servers. */
const TYPES: Readonly<Record<string, string>> = {
  FeatureServer: 'Feature Service',
  MapServer: 'Map Service',
  ImageServer: 'Image Service',
  VectorTileServer: 'Vector Tile Service',
  GeocodeServer: 'Geocoding Service',
  GeometryServer: 'Geometry Service',
  GPServer: 'Geoprocessing Service',
};

interface Item extends SearchedItem {
  readonly name: string;
  readonly url: string;
}

export function portalOperations(deps: CatalogueDeps): Operation[] {
  const listItems = async (x: Exchange): Promise<Item[]> =>
    (await servicesFor(deps, x.principal)).flatMap((service) => findItem(x.baseUrl, service) ?? []);
  return [
    ...readingOperation({
      about: about('portal'),
      name: 'portal',
      path: ROOT,
      pathParams: {},
      params: {},
      summary: 'Version of the portal',
      run: (_x, _path, members) =>
        jsonReply({ currentVersion: String(CURRENT_VERSION) }, documentFormat(members)),
    }),
    ...readingOperation({
      about: about('info'),
      name: 'sharingInfo',
      path: `${ROOT}/info`,
      pathParams: {},
      params: {},
      summary: 'About the portal',
      run: (x, _path, members) => jsonReply(infoDocument(x.baseUrl), documentFormat(members)),
    }),
    ...readingOperation({
      about: about('self'),
      name: 'portalSelf',
      path: `${ROOT}/portals/self`,
      pathParams: {},
      params: {},
      summary: 'Get the portal and its user',
      run: async (x, _path, members) =>
        jsonReply(portalDocument(x, await servicesFor(deps, x.principal)), documentFormat(members)),
    }),
    ...readingOperation({
      about: about('user'),
      name: 'portalUser',
      path: `${ROOT}/community/self`,
      pathParams: {},
      params: {},
      summary: 'Get the caller',
      run(x, _path, members) {
        const user = buildUser(x.principal);
        if (!user) throw notFound('user', 'self');
        return jsonReply(user, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('users'),
      name: 'portalUserByName',
      path: `${ROOT}/community/users/{username}`,
      pathParams: { username: pathString('username', 'Name of the caller.') },
      params: {},
      summary: 'Get the caller by name',
      run(x, { username }, members) {
        const user = buildUser(x.principal);
        if (user?.username !== username) throw notFound('user', username!.slice(0, 100));
        return jsonReply(user, documentFormat(members));
      },
    }),
    ...readingOperation({
      about: about('search'),
      name: 'portalSearch',
      path: `${ROOT}/search`,
      pathParams: {},
      params: {},
      summary: 'Services that a search finds',
      run: async (x, _path, members) =>
        jsonReply(searchPage(await listItems(x), members), documentFormat(members)),
    }),
    ...readingOperation({
      about: about('item'),
      name: 'portalItem',
      path: `${ROOT}/content/items/{itemId}`,
      pathParams: { itemId },
      params: {},
      summary: 'An item: a service',
      async run(x, path, members) {
        const item = (await listItems(x)).find(({ id }) => id === path['itemId']);
        if (!item) throw notFound('item', path['itemId']!.slice(0, 100));
        return jsonReply(item, documentFormat(members));
      },
    }),
  ];
}

function findItem(baseUrl: string, { name, type }: ServiceEntry): Item | undefined {
  const title = name.split('/').at(-1)!;
  const kind = TYPES[type];
  if (kind === undefined) return undefined;
  const id = getId(`${type}/${name}`);
  const url = buildAddress(baseUrl, { name, type });
  return { id, owner: OWNER, name: title, title, type: kind, url };
}

function buildAddress(baseUrl: string, { name, type }: ServiceEntry): string {
  return `${baseUrl}/rest/services/${name.split('/').map(encodeURIComponent).join('/')}/${type}`;
}

const ids = boundedCache<string, string>(GEOSERVICES_LIMITS.portalItems);

/** Clients take 32 hexadecimal digits for the id of an item. */
function getId(service: string): string {
  let id = ids.get(service);
  if (id === undefined) {
    id = createHash('sha256').update(service).digest('hex').slice(0, 32);
    ids.set(service, id);
  }
  return id;
}

function searchPage(items: readonly Item[], members: Members) {
  const q = readTextMember(members, 'q', 2000) ?? '';
  // Clients request the page after the last one with the value of its `nextStart`.
  const isPastEnd = readTextMember(members, 'start', 20) === '-1';
  const start = isPastEnd ? items.length + 1 : readIntegerMember(members, 'start') || 1;
  const num = readIntegerMember(members, 'num') ?? 10;
  const matches = items.filter(itemSearch(q));
  const results = matches.slice(start - 1, start - 1 + Math.min(num, 100));
  const next = start + results.length;
  const nextStart = results.length > 0 && next <= matches.length ? next : -1;
  return { query: q, total: matches.length, start, num: results.length, nextStart, results };
}

function portalDocument({ baseUrl, principal }: Exchange, services: readonly ServiceEntry[]) {
  const { host } = new URL(baseUrl);
  const user = buildUser(principal);
  return {
    id: OWNER,
    name: 'Graticule',
    isPortal: true,
    portalMode: 'singletenant',
    access: 'public',
    portalHostname: host,
    portalName: 'Graticule',
    allSSL: baseUrl.startsWith('https:'),
    supportsOAuth: false,
    supportsHostedServices: false,
    culture: 'en',
    units: 'metric',
    helperServices: helperServices(baseUrl, services),
    ...(user ? { user } : {}),
  };
}

/** Services that clients use by default: the geometry service, and locators. */
function helperServices(baseUrl: string, services: readonly ServiceEntry[]) {
  const locators = services.filter(({ type }) => type === 'GeocodeServer');
  return {
    geometry: { url: buildAddress(baseUrl, GEOMETRY_SERVICE) },
    geocode: locators.map((service) => ({
      url: buildAddress(baseUrl, service),
      name: service.name,
      singleLineFieldName: 'SingleLine',
      suggest: true,
      batch: true,
    })),
  };
}

/** The signed-in user; undefined for anonymous callers. */
function buildUser(principal: Principal) {
  if (principal.kind === 'anonymous') return undefined;
  const { name, roles = [] } = principal;
  return {
    username: name,
    id: formatActor(principal),
    fullName: name,
    role: roles[0] ?? 'org_user',
    privileges: [],
  };
}
