import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { exceptionText } from '../../../../core/errors/exception-text.js';
import { TaskFailure } from '../../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { around, type Box } from '../../../../core/geometry/box.js';
import type { Scene, SceneQuery, SceneSearch, SceneSearchTask } from '../../../../core/stac/stac-scenes.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import type { RemoteAccess } from '../http.js';
import { isObject, object, parseJsonBox, parseLinks, type RemoteJson, readJsonInteger } from '../json.js';
import { filterParameters } from './filter.js';
import { Documents, findNextRequest, type StacPage, type StacPageRequest } from './pages.js';
import { parseScene } from './scene.js';

/** Number of items in one page. */
const PAGE_ITEMS = 250;

/**
 * Task `ingest.stacScenes`. Fails with `source-unreadable` if the URL is not a STAC API or does not support the
 * search, with `store-unavailable`, `deadline-exceeded` and `too-large`.
 */
export async function searchScenes(task: SceneSearchTask, asking: RemoteAccess): Promise<SceneSearch> {
  try {
    return await search(task, asking);
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    // Any error while reading the responses is an error of the API, and not of the client or this server.
    throw new TaskFailure(
      'source-unreadable',
      'The response of the STAC API cannot be read.',
      exceptionText(error),
    );
  }
}

async function search(task: SceneSearchTask, asking: RemoteAccess): Promise<SceneSearch> {
  const documents = new Documents(task, asking);
  const landing = await readLanding(documents);
  const extent = task.isDescribed ? await findExtent(documents, landing) : undefined;
  const taken = new Scenes(task, asking);
  const requests = new Set<string>();
  const first = searchRequest(landing, task);
  let request: StacPageRequest | undefined = first;
  while (request && !taken.isFull) {
    const key = createHash('sha256').update(JSON.stringify(request)).digest('base64');
    if (requests.has(key)) {
      taken.tell('Its pages lead in a circle: only the items before were read.');
      break;
    }
    if (requests.size === EXCHANGE_LIMITS.stacPages) {
      taken.tell(`It has more than ${EXCHANGE_LIMITS.stacPages} pages. Only their items were read.`);
      break;
    }
    requests.add(key);
    const page = await documents.read(request);
    taken.add(page);
    request = findNextRequest(page, request, new URL(first.url));
  }
  return { ...taken.result(request !== undefined), ...(extent && { extent }) };
}

/** Landing pages change rarely. */
const landings = new LRUCache<string, StacPage>({ max: 100, ttl: 600_000 });

async function readLanding(documents: Documents): Promise<StacPage> {
  const { url } = documents.task;
  const before = landings.get(url);
  if (before) return before;
  const landing = await documents.read({ url });
  if (parseLinks(landing.document, url).some(({ rel }) => rel === 'search')) landings.set(url, landing);
  return landing;
}

/** Returns the box around the collections. Undefined if one of them does not state its extent. */
async function findExtent(documents: Documents, { document, url }: StacPage): Promise<Box | undefined> {
  const data = parseLinks(document, url).find(({ rel }) => rel === 'data')?.href;
  if (data === undefined) return undefined;
  let extent: Box | undefined;
  for (const id of documents.task.query.collections) {
    const { pathname } = new URL(data);
    const address = new URL(`${pathname}/${encodeURIComponent(id)}`, data).href;
    const own = boxOfCollection((await documents.read({ url: address })).document);
    if (!own) return undefined;
    extent = extent ? around(extent, own) : own;
  }
  return extent;
}

function boxOfCollection({ extent }: RemoteJson): Box | undefined {
  const { bbox } = object(object(extent)['spatial']);
  const [west, south, east, north] = parseJsonBox(Array.isArray(bbox) ? bbox[0] : undefined) ?? [0, 0, 0, 0];
  if (!(west >= -180 && east <= 180 && west < east && south < 85 && north > -85 && south < north))
    return undefined;
  // Many CRS have no place for the poles.
  return [west, Math.max(-85, south), east, Math.min(85, north)];
}

/** Returns the request of the search. Fails if there is no search. */
function searchRequest({ document, url }: StacPage, { query, maxScenes }: SceneSearchTask): StacPageRequest {
  const links = Array.isArray(document['links']) ? document['links'].filter(isObject) : [];
  const searches = links.filter(({ rel }) => rel === 'search');
  const isPost = (link: RemoteJson) => String(link['method'] ?? 'GET').toUpperCase() === 'POST';
  const link = searches.find((one) => !isPost(one)) ?? searches[0];
  const [target] = link ? parseLinks({ links: [link] }, url) : [];
  if (!link || !target) throw refused('it has no link to a search, so it is not a STAC API');
  const conforms = readConformance(document);
  const filter = query.filter === undefined ? {} : filterParameters(query.filter, isPost(link), conforms);
  const parameters = { ...collectParameters(query, maxScenes, conforms), ...filter };
  if (isPost(link)) return { url: target.href, body: parameters };
  const to = new URL(target.href);
  for (const [name, value] of Object.entries(parameters)) to.searchParams.set(name, formatText(value));
  return { url: to.href };
}

function readConformance({ conformsTo }: RemoteJson): (end: RegExp) => boolean {
  const classes = Array.isArray(conformsTo) ? conformsTo.map(String) : [];
  return (end) => classes.some((one) => end.test(one));
}

function collectParameters(
  { collections, bbox, datetime, prefers }: SceneQuery,
  maxScenes: number,
  conforms: (end: RegExp) => boolean,
): RemoteJson {
  const order = { newest: '-properties.datetime', 'lowest-cloud': '+properties.eo:cloud_cover' };
  return {
    collections,
    limit: Math.min(maxScenes, PAGE_ITEMS),
    ...(bbox && { bbox }),
    ...(datetime === undefined ? {} : { datetime }),
    ...(prefers && conforms(/\/item-search#sort/) ? { sortby: sorting(order[prefers]) } : {}),
  };
}

interface SortTerm {
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

const sorting = (text: string): SortTerm[] => [
  { field: text.slice(1), direction: text.startsWith('-') ? 'desc' : 'asc' },
];

/** Returns the value in the form of GET parameters. */
function formatText(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  return value.map((one) => (isObject(one) ? sortText(one as unknown as SortTerm) : String(one))).join(',');
}

const sortText = ({ field, direction }: SortTerm) => `${direction === 'desc' ? '-' : '+'}${field}`;

/** Scenes that were found, each once. */
class Scenes {
  readonly #scenes = new Map<string, Scene>();
  readonly #problems = new Set<string>();
  #matched: number | undefined;
  #refused = 0;
  #isCut = false;

  constructor(
    readonly task: SceneSearchTask,
    readonly asking: RemoteAccess,
  ) {}

  get isFull(): boolean {
    return this.#scenes.size >= this.task.maxScenes;
  }

  tell(problem: string): void {
    if (this.#problems.size < EXCHANGE_LIMITS.stacSceneFaults) this.#problems.add(problem);
  }

  add({ document, url }: StacPage): void {
    const { type, features } = document;
    if (type !== 'FeatureCollection' || !Array.isArray(features))
      throw refused('its search did not return a collection of items');
    this.#matched ??=
      readJsonInteger(document['numberMatched']) ?? readJsonInteger(object(document['context'])['matched']);
    for (const feature of features) {
      if (this.isFull) {
        this.#isCut = true;
        return;
      }
      this.#take(feature, url);
    }
  }

  #take(feature: unknown, url: string): void {
    const { query } = this.task;
    const scene = isObject(feature)
      ? parseScene(feature, url, query.assets, this.asking.allowed)
      : 'An item is not a JSON object.';
    if (typeof scene === 'string') {
      this.#refused += 1;
      this.tell(scene);
      return;
    }
    const key = `${scene.collection}\0${scene.id}`;
    if (!this.#scenes.has(key)) this.#scenes.set(key, scene);
  }

  result(hasMore: boolean): SceneSearch {
    return {
      scenes: [...this.#scenes.values()],
      isCut: this.#isCut || (hasMore && this.isFull),
      refused: this.#refused,
      problems: [...this.#problems],
      ...(this.#matched === undefined ? {} : { matched: this.#matched }),
    };
  }
}
