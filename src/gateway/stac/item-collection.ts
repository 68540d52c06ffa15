import { contentTag } from '../../core/http/content-tag.js';
import type { Exchange, Reply } from '../../core/http/operation.js';
import type { StacSearchResult, StacSearchTask } from '../../core/stac/stac.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { stringifyExactly } from '../../core/values/json.js';
import { runTask } from '../../services/kit/run-task.js';
import type { Link } from '../surface/common.js';
import { writeToken } from '../surface/page-token.js';
import { STAC_PATH } from './params.js';

const GEOJSON = 'application/geo+json';

/** Links to the next and previous page, for each operation. */
export type PageLinks = (
  place: StacResultPage,
) => (Link & { method?: string; body?: object; merge?: boolean })[];

interface StacResultPage {
  readonly next: string | undefined;
  readonly prev: string | undefined;
  readonly result: StacSearchResult;
}

/** A page of items as ItemCollection (STAC 1.0.0). */
export async function itemCollection(
  x: Exchange,
  pools: Pools,
  task: StacSearchTask,
  links: PageLinks,
): Promise<Reply> {
  const result = await runTask(x, pools, 'vector.stacSearch', task);
  const { first, last } = result;
  const place: StacResultPage = {
    result,
    next: result.more && last ? writeToken({ direction: 'after', key: last }) : undefined,
    prev: result.precedes && first ? writeToken({ direction: 'before', key: first }) : undefined,
  };
  const { matched, returned } = result;
  const counted = matched === undefined ? {} : { matched };
  const tail = {
    links: [{ rel: 'root', href: `${x.baseUrl}${STAC_PATH}`, type: 'application/json' }, ...links(place)],
    context: { returned, ...counted, limit: task.limit },
    ...(matched === undefined ? {} : { numberMatched: matched }),
    numberReturned: returned,
  };
  const body = Buffer.concat([
    Buffer.from('{"type":"FeatureCollection","stac_version":"1.0.0","features":['),
    result.items,
    Buffer.from(`],${stringifyExactly(tail).slice(1)}`),
  ]);
  return { status: 200, mediaType: GEOJSON, body, etag: contentTag(body), cacheControl: 'no-cache' };
}

/** One item as it would be in a page; undefined if it does not exist. */
export async function oneItem(x: Exchange, pools: Pools, task: StacSearchTask): Promise<Reply | undefined> {
  const { items, returned } = await runTask(x, pools, 'vector.stacSearch', task);
  if (returned === 0) return undefined;
  return { status: 200, mediaType: GEOJSON, body: items, etag: contentTag(items), cacheControl: 'no-cache' };
}

/** The query with other parameters that say where a page is. */
export function pageHref(x: Exchange, place: string): string {
  const parameters = x.query.split('&').filter((part) => part !== '' && !/^(token|offset)=/.test(part));
  return `${x.baseUrl}${x.path}?${[...parameters, place].join('&')}`;
}
