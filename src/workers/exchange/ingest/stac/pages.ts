/** Pages of a STAC API, requested by GET with a query or POST with JSON, and the links between them. */

import { TaskFailure } from '../../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import type { SceneSearchTask } from '../../../../core/stac/stac-scenes.js';
import { stringifyExactly } from '../../../../core/values/json.js';
import { requireBounds } from '../../../../core/values/json-bounds.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import { wellAnswered } from '../discover/index.js';
import { get, type RemoteAccess } from '../http.js';
import { isObject, listJsonObjects, parseObject, type RemoteJson } from '../json.js';

/** Request for one page. */
export interface StacPageRequest {
  readonly url: string;
  /** Sent by POST. */
  readonly body?: RemoteJson | undefined;
}

export interface StacPage {
  readonly document: RemoteJson;
  /** Base of relative URLs in the page. */
  readonly url: string;
}

/** Requests JSON documents of an API until its time limit or byte limit is reached. */
export class Documents {
  readonly #end: number;
  #bytes = 0;

  constructor(
    readonly task: SceneSearchTask,
    readonly asking: RemoteAccess,
  ) {
    this.#end = Date.now() + task.timeoutMs;
  }

  /** Reads a page. Fails with `source-unreadable` for documents that are not JSON objects, and like `get`. */
  async read({ url, body }: StacPageRequest): Promise<StacPage> {
    const { host } = new URL(url);
    const timeoutMs = this.#end - Date.now();
    if (timeoutMs <= 0)
      throw new TaskFailure('deadline-exceeded', `${host} did not respond in time. Retry later.`);
    const request = { url, timeoutMs, headers: { accept: 'application/geo+json, application/json;q=0.9' } };
    const json = body === undefined ? {} : { json: stringifyExactly(body) };
    const answer = await get({ ...request, ...json }, this.asking, EXCHANGE_LIMITS.stacAnswerBytes);
    this.#bytes += answer.bytes.length;
    if (this.#bytes > EXCHANGE_LIMITS.stacSearchBytes)
      throw new TaskFailure(
        'too-large',
        `${host} returned more than ${EXCHANGE_LIMITS.stacSearchBytes} bytes.`,
      );
    if (answer.status === 400 || answer.status === 422)
      throw refused(`${host} does not accept the search: ${describeReason(answer.bytes)}`);
    wellAnswered(answer, url);
    if (!/json/.test(answer.mediaType))
      throw refused(`${host} returned ${answer.mediaType.slice(0, 60) || 'no media type'} instead of JSON`);
    return { document: parseObject(answer.bytes), url };
  }
}

function describeReason(bytes: Buffer): string {
  try {
    const { detail, description, message, title } = parseObject(bytes);
    const reason = [detail, description, message, title].find((one) => one !== undefined);
    return (typeof reason === 'string' ? reason : JSON.stringify(reason ?? 'no reason')).slice(0, 200);
  } catch {
    return 'no reason';
  }
}

/**
 * Returns the request in the link to the next page. Undefined on the last page. Bodies are sent only to the origin of
 * the search.
 */
export function findNextRequest(
  { document, url }: StacPage,
  before: StacPageRequest,
  { origin }: URL,
): StacPageRequest | undefined {
  const link = listJsonObjects(document['links']).find(({ rel }) => rel === 'next');
  if (!link) return undefined;
  const { href, method, body, merge } = link;
  if (typeof href !== 'string' || href.length > EXCHANGE_LIMITS.stacNextBytes || !URL.canParse(href, url))
    throw refused('its link to the next page is not a URL');
  const next = new URL(href, url);
  if (String(method ?? 'GET').toUpperCase() !== 'POST') return { url: next.href };
  if (next.origin !== origin) throw refused('its link to the next page sends the search to another host');
  const own = isObject(body) ? body : {};
  const whole = merge === true ? { ...before.body, ...own } : own;
  checkBody(whole);
  return { url: next.href, body: whole };
}

function checkBody(body: RemoteJson): void {
  try {
    const text = Buffer.from(stringifyExactly(body));
    if (text.length > EXCHANGE_LIMITS.stacNextBytes)
      throw refused(
        `its link to the next page has a body of more than ${EXCHANGE_LIMITS.stacNextBytes} bytes`,
      );
    requireBounds(text, { depth: LIMITS.textDepth, values: Infinity, names: Infinity, string: Infinity });
  } catch (error) {
    if (error instanceof TaskFailure) throw error;
    // A `RangeError` occurs for nesting deeper than the stack.
    throw refused('its link to the next page has a body with too many levels of nesting');
  }
}
