import { TaskFailure } from '../../../../core/errors/failure.js';
import type { GeoServerGap } from '../../../../core/exchange/geoserver.js';
import type { RemoteRequest } from '../../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../../core/exchange/limits.js';
import { LIMITS } from '../../../../core/kit/limits.js';
import { mapInLanes } from '../../../../core/values/lanes.js';
import { parseXmlDocument, type XmlNode } from '../../../files/xml.js';
import { refused } from '../../../storage/remote/allowed-hosts.js';
import { get, type RemoteAccess, type RemoteAnswer } from '../http.js';
import { parseObject, type RemoteJson } from '../json.js';

/** Names that lead to a resource, from the root of the REST API. */
export type Path = readonly string[];

/** Requested resource and the form of the request. */
interface Resource {
  readonly path: Path;
  readonly extension: string;
  readonly accept: string;
  /** Whether it is of the REST API of the tile cache, which a server may be without. */
  readonly isOfTileCache?: boolean;
}

const JSON_FORM = { extension: '.json', accept: 'application/json' } as const;
const TILE_CACHE = 'gwc';
const TRIES = 2;
/** Half of a pair: no UTF-8 has it. */
const LONE_SURROGATE = /\p{Cs}/u;

/**
 * Reads resources of a REST API within limits. URLs are built from names: links in responses are not followed,
 * because they can lead anywhere. An unreadable resource is a gap. An unavailable or slow server fails the complete
 * task.
 */
export class GeoServerReader {
  readonly gaps: GeoServerGap[] = [];
  readonly #end: number;
  #requests = 0;
  #bytes = 0;
  #isSpent = false;

  constructor(
    private readonly request: RemoteRequest,
    private readonly asking: RemoteAccess,
  ) {
    this.#end = Date.now() + request.timeoutMs;
  }

  /**
   * Returns the response to the first request, which shows whether the server exists and can be read. Fails
   * otherwise.
   */
  async first(path: Path): Promise<RemoteJson> {
    const answer = await this.#answer({ path, ...JSON_FORM });
    if (answer.status === 401 || answer.status === 403)
      throw new TaskFailure('access-denied', `${this.#host} does not accept the user name and password.`);
    return parseObject(successful(answer).bytes);
  }

  /** A resource as JSON; undefined, with a gap, where it cannot be read. */
  object(path: Path): Promise<RemoteJson | undefined> {
    return this.#read({ path, ...JSON_FORM }, ({ bytes }) => parseObject(bytes));
  }

  /** A resource as text. */
  text(path: Path, extension: string, accept: string): Promise<string | undefined> {
    return this.#read({ path, extension, accept }, (answer) => {
      requireNoPage(answer);
      return answer.bytes.toString('utf8');
    });
  }

  /**
   * Returns the result of reading a tile cache document whose root has this name. Undefined if the document does not
   * exist; with a gap if it cannot be read for another reason. The request is for XML, because GeoServer's
   * documentation advises against its JSON.
   */
  tileCache<T>(path: Path, name: RegExp, read: (root: XmlNode) => T): Promise<T | undefined> {
    const resource = { path, extension: '.xml', accept: 'application/xml', isOfTileCache: true } as const;
    return this.#read(resource, (answer) => {
      requireNoPage(answer);
      const document = parseXmlDocument(answer.bytes);
      if (!name.test(document.name)) throw refused(`it returned ${document.name.slice(0, 100)}`);
      return read(document.root);
    });
  }

  gap(path: Path, reason: string): undefined {
    this.gaps.push({ path: path.join('/'), reason });
    return undefined;
  }

  /** Does something with each, several at a time, and keeps their order. */
  each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
    return mapInLanes(items, EXCHANGE_LIMITS.geoServerLanes, work);
  }

  get #host(): string {
    return new URL(this.request.url).host;
  }

  async #read<T>(resource: Resource, read: (answer: RemoteAnswer) => T): Promise<T | undefined> {
    if (this.#isSpent) return undefined;
    const { path, isOfTileCache = false } = resource;
    try {
      const answer = await this.#answer(resource);
      return isOfTileCache && answer.status === 404 ? undefined : read(successful(answer));
    } catch (error) {
      if (!(error instanceof TaskFailure)) throw error;
      if (error.code !== 'source-unreadable' && error.code !== 'too-large') throw error;
      return this.gap(isOfTileCache ? [TILE_CACHE, ...path] : path, error.message);
    }
  }

  async #answer(resource: Resource): Promise<RemoteAnswer> {
    const url = this.#urlOf(resource);
    const headers = { ...this.request.headers, accept: resource.accept };
    for (let n = 1; ; n++) {
      this.#spend();
      const timeoutMs = this.#end - Date.now();
      if (timeoutMs <= 0)
        throw new TaskFailure('deadline-exceeded', `${this.#host} did not respond in time. Retry later.`);
      try {
        const answer = await get(
          { url, timeoutMs, headers },
          this.asking,
          EXCHANGE_LIMITS.geoServerAnswerBytes,
        );
        this.#bytes += answer.bytes.length;
        return answer;
      } catch (error) {
        // A connection that was kept may be closed by the time that it is used.
        const isPassing = error instanceof TaskFailure && error.code === 'store-unavailable';
        if (!isPassing || n === TRIES) throw error;
      }
    }
  }

  #urlOf({ path, extension, isOfTileCache = false }: Resource): string {
    const names = path.map((name) => {
      if (name === '.' || name === '..' || LONE_SURROGATE.test(name))
        throw refused('its name cannot be part of a URL');
      return encodeURIComponent(name);
    });
    const url = new URL(this.request.url);
    const root = isOfTileCache ? url.pathname.replace(/rest$/, `${TILE_CACHE}/rest`) : url.pathname;
    url.pathname = `${root}/${names.join('/')}${extension}`;
    if (url.href.length > LIMITS.urlBytes) throw refused('its URL is too long');
    return url.href;
  }

  /** Stops reading at the limits. The result contains everything that was read until then. */
  #spend(): void {
    this.#requests++;
    if (this.#requests <= EXCHANGE_LIMITS.geoServerRequests && this.#bytes <= EXCHANGE_LIMITS.geoServerBytes)
      return;
    this.#isSpent = true;
    throw new TaskFailure(
      'too-large',
      `The server has more than is read in one run (${EXCHANGE_LIMITS.geoServerRequests} resources, ${EXCHANGE_LIMITS.geoServerBytes} bytes). The rest was omitted.`,
    );
  }
}

function requireNoPage({ mediaType }: RemoteAnswer): void {
  if (/html/.test(mediaType)) throw refused('it returned HTML');
}

function successful(answer: RemoteAnswer): RemoteAnswer {
  if (answer.status === 401 || answer.status === 403)
    throw refused(`it may not be read with these credentials (${answer.status})`);
  if (answer.status !== 200) throw refused(`it returned ${answer.status}`);
  return answer;
}
