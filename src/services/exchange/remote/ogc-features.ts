import { join } from 'node:path';
import { SourceFault, TaskFailure } from '../../../core/errors/failure.js';
import type { ItemsPlan, RemoteItemsPage } from '../../../core/exchange/ingest.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobContext } from '../../jobs/kinds.js';
import { FETCHED } from '../import.js';
import type { FetchedFile, RemoteInput, RemoteKind } from '../import-input.js';
import { type PagePosition, restored } from './page-place.js';
import { requestWith, type SecretReferences, type SecretSource } from './secret-references.js';

/** Selection of the features of an OGC API Features collection to import. */
export interface OgcFeaturesSource {
  serviceUrl: string;
  collectionId: string;
  /** CQL2 text. */
  filter?: string | undefined;
  bbox?: readonly number[] | undefined;
  datetime?: string | undefined;
  /** 0: all. */
  maxFeatures: number;
  maxPages: number;
  pageSize: number;
  timeoutSeconds: number;
  credentials?: SecretReferences;
}

/** Progress and results of the reading. */
export interface ItemsReport {
  pages: number;
  features: number;
  /** Features that pass, as the server says. */
  matched: number | null;
  truncated: boolean;
  /** A link led to another place than the items of the collection. */
  drifted: boolean;
}

/** Stored after each page, so that another run can resume after it. */
interface ItemsPlace extends ItemsReport, PagePosition {
  /** URL of the items whose pages are read. */
  items: string;
  /** URL of the next page. Null after the last one. */
  next: string | null;
}

export const OGC_FEATURES = 'import-ogc-features';
const PREFIX = 'ogc_api_features.';

type Context = JobContext<RemoteInput<OgcFeaturesSource>>;

/** Import of a collection of OGC API Features: its pages, by their links, into one file. */
export function ogcFeatures(pools: Pick<Pools, 'run'>, secrets: SecretSource): RemoteKind<OgcFeaturesSource> {
  return {
    kind: OGC_FEATURES,
    title: 'Import a collection of OGC API Features',
    goesOn: true,
    async fetch(context, folder) {
      const headers = await loadHeaders(context.input.remote, secrets);
      return new ItemsReader(pools, headers, context, folder).run().catch(throwFault);
    },
  };
}

async function loadHeaders(
  { serviceUrl, credentials = {} }: OgcFeaturesSource,
  secrets: SecretSource,
): Promise<Readonly<Record<string, string>>> {
  return (await requestWith(new URL(serviceUrl), credentials, 0, secrets)).headers ?? {};
}

class ItemsReader {
  #report = nothingRead();
  readonly #output: string;
  readonly #end: number;
  /** Whether an earlier run read the page before. */
  #isResumed = false;
  /** Followed links, to detect a repeated link. */
  readonly #followed = new Set<string>();
  #before: ReadonlySet<string> = new Set();

  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly context: Context,
    folder: string,
  ) {
    this.#output = join(folder, 'items.geojsonl');
    this.#end = Date.now() + context.input.remote.timeoutSeconds * 1000;
  }

  async run(): Promise<FetchedFile> {
    const plan = await this.#plan();
    await this.#readAll(plan);
    const { features } = this.#report;
    if (features === 0)
      throw fault(
        'invalid_items_document',
        'No feature of the collection passes the filter, so there is nothing to import.',
      );
    this.#requireParity();
    const title = plan.title ?? this.context.input.remote.collectionId;
    return { path: this.#output, title: title.slice(0, 200), report: this.#report };
  }

  async #plan(): Promise<ItemsPlan> {
    const { serviceUrl: url, collectionId, filter } = this.context.input.remote;
    const { headers } = this;
    const task = { url, headers, collectionId, isFiltered: filter !== undefined, timeoutMs: this.#left() };
    const plan = await this.pools.run('ingest.itemsPlan', task, this.context);
    if (filter !== undefined && !plan.isFiltered)
      throw fault('invalid_filter', 'The server does not declare that it filters by CQL2 text.');
    return plan;
  }

  /**
   * Resumes after an earlier run, or starts at the first page. Also starts again if the server does not accept the
   * next link of the earlier run.
   */
  async #readAll({ items }: ItemsPlan): Promise<void> {
    const { context } = this;
    const place = await this.#resume(items);
    try {
      if (place) return await this.#readPages(place);
    } catch (error) {
      if (!this.#isResumed || !isOfSource(error)) throw error;
      await context.log('warning', `The pages are read from the first one again: ${error.message}`);
    }
    this.#isResumed = false;
    this.#report = nothingRead();
    this.#before = new Set();
    this.#followed.clear();
    await this.#readPages({ items, offset: 0, next: firstPage(items, context.input.remote) });
  }

  /** Position that an earlier run stored for these items. Undefined if there is none, or its data is incomplete. */
  async #resume(items: string): Promise<ItemsPlace | undefined> {
    const { pools, context } = this;
    const place = await restored<ItemsPlace>({ pools, context, path: this.#output });
    if (place?.items !== items) return undefined;
    const { pages, features, matched, truncated, drifted } = place;
    this.#report = { pages, features, matched, truncated, drifted };
    this.#before = new Set(place.ids);
    this.#isResumed = true;
    return place;
  }

  async #readPages(from: Pick<ItemsPlace, 'items' | 'offset' | 'next'>): Promise<void> {
    const { maxPages } = this.context.input.remote;
    const { items } = from;
    let { offset } = from;
    for (let url = from.next ?? undefined; url !== undefined; ) {
      if (this.#report.pages === maxPages || this.#room() === 0) {
        this.#report.truncated = true;
        break;
      }
      await this.#requireScope(url, items);
      const page = await this.#read(url, offset);
      await this.#keep({ items, begin: offset, offset: page.offset, next: page.next ?? null });
      offset = page.offset;
      url = page.next;
    }
  }

  async #read(url: string, offset: number): Promise<RemoteItemsPage> {
    const { context } = this;
    // Credentials are only sent to the server in the request, regardless of its links.
    const isNamed = new URL(url).origin === new URL(context.input.remote.serviceUrl).origin;
    const request = { url, timeoutMs: this.#left(), headers: isNamed ? this.headers : {} };
    const task = { ...request, output: this.#output, offset, limit: this.#room() };
    const page = await this.pools.run('ingest.itemsPage', task, context);
    this.#requireAnswer(page);
    const report = this.#report;
    report.pages++;
    report.features += page.count;
    report.matched ??= page.matched ?? null;
    if (page.count < page.returned) report.truncated = true;
    const expected = Math.min(
      report.matched ?? Number.POSITIVE_INFINITY,
      context.input.remote.maxFeatures || Infinity,
    );
    if (Number.isFinite(expected)) context.progress(FETCHED * Math.min(1, report.features / expected));
    this.#isResumed = false;
    return page;
  }

  #keep(place: Omit<ItemsPlace, keyof ItemsReport>): Promise<void> {
    return this.context.checkpoint({ ...this.#report, ...place } satisfies ItemsPlace);
  }

  #requireAnswer({ refusal, mediaType, returned, next, ids, matched }: RemoteItemsPage): void {
    if (refusal !== undefined) throw this.#refused(refusal);
    if (mediaType !== undefined)
      throw fault(
        'unsupported_items_encoding',
        `The server returns the items as ${mediaType}, not as GeoJSON.`,
      );
    if (returned === 0 && next !== undefined)
      throw fault('invalid_items_document', 'A page is empty, and has a link to a next one.');
    const before = this.#report.matched ?? matched;
    if (this.#isResumed && matched !== undefined && matched !== before)
      throw fault('invalid_items_document', 'Another number of features passes than before.');
    if (ids.length > 0 && ids.some((id) => this.#before.has(id)))
      throw fault(
        'invalid_items_document',
        'A page has features of the page before: the server pages wrongly.',
      );
    this.#before = new Set(ids);
  }

  /** The error of a refused request, for the parameter that most likely caused it. */
  #refused(reason: string): SourceFault {
    const { filter, bbox, datetime } = this.context.input.remote;
    const named = (['filter', 'bbox', 'datetime'] as const).find((name) => reason.includes(name));
    const sent = named ?? (filter ? 'filter' : bbox ? 'bbox' : datetime ? 'datetime' : undefined);
    const code = sent === undefined ? 'invalid_items_document' : `invalid_${sent}`;
    return fault(code, `The server refuses the request: ${reason}`);
  }

  /**
   * Requires that a link leads to another page of the same items, because the request did not name other resources.
   */
  async #requireScope(url: string, items: string): Promise<void> {
    const [next, first] = [new URL(url), new URL(items)];
    if (next.origin !== first.origin || next.pathname !== first.pathname) {
      this.#report.drifted = true;
      await this.context.checkpoint(this.#report);
      throw fault(
        'invalid_items_document',
        `A link refers to another server or path: ${next.origin}${next.pathname}.`,
      );
    }
    if (this.#followed.has(url))
      throw fault('invalid_items_document', 'The link to the next page refers to an earlier page.');
    this.#followed.add(url);
  }

  #requireParity(): void {
    const { matched, features, truncated } = this.#report;
    if (truncated || matched === null || matched === features) return;
    throw fault(
      'invalid_items_document',
      `The server says that ${matched} features pass, and its pages have ${features}.`,
    );
  }

  /** Features that may still be written. */
  #room(): number {
    const most = this.context.input.remote.maxFeatures || EXCHANGE_LIMITS.importFeatures;
    return Math.max(0, most - this.#report.features);
  }

  #left(): number {
    const left = this.#end - Date.now();
    if (left <= 0) throw fault('timeout', 'The collection was not read within timeoutSeconds.');
    return left;
  }
}

function firstPage(items: string, { filter, bbox, datetime, pageSize }: OgcFeaturesSource): string {
  const url = new URL(items);
  url.searchParams.set('limit', String(pageSize));
  if (!url.searchParams.has('f')) url.searchParams.set('f', 'json');
  if (bbox) url.searchParams.set('bbox', bbox.join(','));
  if (datetime !== undefined) url.searchParams.set('datetime', datetime);
  if (filter !== undefined) {
    url.searchParams.set('filter', filter);
    url.searchParams.set('filter-lang', 'cql2-text');
  }
  return url.href;
}

const nothingRead = (): ItemsReport => ({
  pages: 0,
  features: 0,
  matched: null,
  truncated: false,
  drifted: false,
});

/** Whether the responses of the server are wrong. */
function isOfSource(error: unknown): error is Error {
  if (error instanceof SourceFault) return error.code !== `${PREFIX}timeout`;
  return (
    error instanceof TaskFailure && (error.code === 'source-missing' || error.code === 'source-unreadable')
  );
}

const fault = (code: string, message: string) => new SourceFault(PREFIX + code, message);

const CODES: Readonly<Record<string, string>> = {
  'invalid-input': 'invalid_service_url',
  'source-missing': 'missing_items_endpoint',
  'source-unreadable': 'invalid_items_document',
  'too-large': 'invalid_items_document',
  'store-unavailable': 'source_unreachable',
  'deadline-exceeded': 'timeout',
};

function throwFault(error: unknown): never {
  const code = error instanceof TaskFailure ? CODES[error.code] : undefined;
  throw code === undefined ? error : fault(code, (error as Error).message);
}
