import { TaskFailure } from '../../../core/errors/failure.js';
import type {
  ItemsPageTask,
  ItemsPlan,
  ItemsPlanTask,
  RemoteItemsPage,
} from '../../../core/exchange/ingest.js';
import { resourceBelow } from '../../../core/http/resource-url.js';
import { refused } from '../../storage/remote/allowed-hosts.js';
import { wellAnswered } from './discover/index.js';
import { findRelationLink } from './discover/ogc-api.js';
import { get, type RemoteAccess } from './http.js';
import { documentText, parseLinks, parseObject, readJsonInteger, string } from './json.js';
import { append, parsePageFeatures, splitFeatures } from './pages.js';

const GEOJSON = 'application/geo+json, application/json;q=0.9';

/** Task `ingest.itemsPlan`: returns the URL of a collection's items, and whether they can be filtered. */
export async function planItems(task: ItemsPlanTask, asking: RemoteAccess): Promise<ItemsPlan> {
  const url = resourceBelow(task.url, 'collections', task.collectionId);
  const answer = await get(
    { ...task, url, headers: { ...task.headers, accept: 'application/json' } },
    asking,
  );
  if (answer.status === 404)
    throw new TaskFailure('source-missing', `The server has no collection '${task.collectionId}'.`);
  const document = parseObject(wellAnswered(answer, url).bytes);
  const link = findRelationLink(
    parseLinks(document, url).filter(({ type }) => type === undefined || /json/.test(type)),
    'items',
  );
  if (!link) throw new TaskFailure('source-missing', 'The collection has no link to its items as GeoJSON.');
  const isFiltered = task.isFiltered && (await canFilter(task, asking));
  return {
    items: link.href,
    title: string(document['title']),
    description: string(document['description']),
    isFiltered,
  };
}

/** Whether the server declares filters in CQL2 text. Other servers may silently ignore them. */
async function canFilter(task: ItemsPlanTask, asking: RemoteAccess): Promise<boolean> {
  const url = resourceBelow(task.url, 'conformance');
  const answer = await get(
    { ...task, url, headers: { ...task.headers, accept: 'application/json' } },
    asking,
  );
  if (answer.status !== 200) return false;
  const { conformsTo } = parseObject(answer.bytes);
  const classes = Array.isArray(conformsTo) ? conformsTo.map(String) : [];
  const has = (end: string) => classes.some((one) => one.endsWith(end));
  return has('/conf/features-filter') && has('/conf/cql2-text');
}

/** Task `ingest.itemsPage`: appends one page of features to a file. */
export async function readItemsPage(task: ItemsPageTask, asking: RemoteAccess): Promise<RemoteItemsPage> {
  const answer = await get({ ...task, headers: { ...task.headers, accept: GEOJSON } }, asking);
  if (answer.status === 400)
    return { ...NOTHING, offset: task.offset, refusal: describeRefusal(answer.bytes) };
  wellAnswered(answer, task.url);
  if (!/json/.test(answer.mediaType))
    return { ...NOTHING, offset: task.offset, mediaType: answer.mediaType || 'no media type' };
  const page = parseObject(answer.bytes);
  const features = parsePageFeatures(page);
  const returned = readJsonInteger(page['numberReturned']);
  if (returned !== undefined && returned !== features.length)
    throw refused(`a page says that it has ${returned} features, and has ${features.length}`);
  const texts = splitFeatures(documentText(answer.bytes)).slice(0, task.limit);
  const written = await append(task.output, task.offset, texts);
  const next = parseLinks(page, task.url).find(({ rel }) => rel === 'next')?.href;
  return {
    ...written,
    returned: features.length,
    matched: readJsonInteger(page['numberMatched']),
    ...(next === undefined ? {} : { next }),
  };
}

const NOTHING = { count: 0, returned: 0, ids: [], matched: undefined };

function describeRefusal(bytes: Buffer): string {
  try {
    const { detail, description, title, message } = parseObject(bytes);
    return (string(detail) ?? string(description) ?? string(message) ?? string(title) ?? 'no reason').slice(
      0,
      300,
    );
  } catch {
    return 'no reason';
  }
}
