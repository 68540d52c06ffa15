import { join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import { EXCHANGE_LIMITS } from '../../../core/exchange/limits.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { StateCipher } from '../../access/keys/state-cipher.js';
import type { JobContext } from '../../jobs/kinds.js';
import { FETCHED } from '../import.js';
import type { FetchedFile, RemoteInput, RemoteKind } from '../import-input.js';
import { type PagePosition, restored } from './page-place.js';
import { requestWith, type SecretReferences, type SecretSource } from './secret-references.js';
import { ID_PROPERTY, WfsPages, type WfsRead, type WfsType } from './wfs-pages.js';

/** A feature type that is imported. */
export interface WfsSource extends WfsType {
  title: string;
  pageSize: number;
  /** Headers with credentials, as JSON, sealed. */
  sealedHeaders?: string;
  /** In their place: where the credentials are. */
  credentials?: SecretReferences;
}

export interface WfsReport {
  pages: number;
  features: number;
  /** Features of the type, as the server says. */
  matched: number | null;
}

/** Stored after each page, so that another run can resume after it. */
interface WfsPlace extends WfsReport, PagePosition {
  srid?: number | undefined;
  isLast: boolean;
}

export const WFS = 'import-ogc-wfs';

/** Import of a feature type of a WFS 2.0, page by page by its index. */
export function wfs(
  pools: Pick<Pools, 'run'>,
  sealing: StateCipher,
  secrets: SecretSource,
): RemoteKind<WfsSource> {
  return {
    kind: WFS,
    title: 'Import a feature type of a WFS',
    goesOn: true,
    async fetch(context, folder) {
      const headers = await readHeaders(context.input.remote, sealing, secrets);
      return new WfsReader(pools, headers, context, folder).run();
    },
  };
}

async function readHeaders(
  { serviceUrl, sealedHeaders, credentials = {}, requestMs }: WfsSource,
  sealing: StateCipher,
  secrets: SecretSource,
): Promise<Readonly<Record<string, string>>> {
  if (sealedHeaders !== undefined) return JSON.parse(sealing.open(sealedHeaders)) as Record<string, string>;
  return (await requestWith(new URL(serviceUrl), credentials, requestMs, secrets)).headers ?? {};
}

class WfsReader {
  #report: WfsReport = { pages: 0, features: 0, matched: null };
  readonly #output: string;
  readonly #source: WfsSource;
  readonly #wfs: WfsPages;
  #srid: number | undefined;
  /** Whether an earlier run read the page before. */
  #isResumed = false;
  #before: ReadonlySet<string> = new Set();

  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    headers: Readonly<Record<string, string>>,
    private readonly context: JobContext<RemoteInput<WfsSource>>,
    folder: string,
  ) {
    this.#source = context.input.remote;
    this.#output = join(folder, 'features.geojsonl');
    this.#wfs = new WfsPages(pools, context, this.#source, headers, folder, this.#output);
  }

  async run(): Promise<FetchedFile> {
    const matched = await this.#wfs.count();
    if (matched === 0) throw wrong('The feature type has no features: there is nothing to import.');
    await this.#readAll(matched);
    const report = this.#report;
    if (report.features === 0) throw wrong('The feature type has no features: there is nothing to import.');
    const sourceCrs = this.#srid === undefined ? {} : { sourceCrs: `EPSG:${this.#srid}` };
    return { path: this.#output, title: this.#source.title, report, ...sourceCrs };
  }

  /**
   * Resumes after an earlier run, or starts at the first page. Also starts again if the server does not accept the
   * position of the earlier run.
   */
  async #readAll(matched: number | null): Promise<void> {
    const { context } = this;
    const place = await this.#resume(matched);
    try {
      if (place) return place.isLast ? undefined : await this.#readPages(place.offset);
    } catch (error) {
      const isOfSource = error instanceof TaskFailure && error.code === 'source-unreadable';
      if (!this.#isResumed || !isOfSource) throw error;
      await context.log('warning', `The pages are read from the first one again: ${error.message}`);
    }
    this.#isResumed = false;
    this.#report = { pages: 0, features: 0, matched };
    this.#srid = undefined;
    this.#before = new Set();
    await this.#readPages(0);
  }

  /**
   * Position that an earlier run stored for the same number of features. Undefined if there is none, or its data is
   * incomplete.
   */
  async #resume(matched: number | null): Promise<WfsPlace | undefined> {
    const { pools, context } = this;
    const idProperty = this.#source.geoJson === undefined ? ID_PROPERTY : undefined;
    const place = await restored<WfsPlace>({ pools, context, path: this.#output, idProperty });
    if (!place || (matched ?? place.matched) !== place.matched) return undefined;
    this.#report = { pages: place.pages, features: place.features, matched: place.matched };
    this.#srid = place.srid;
    this.#before = new Set(place.ids);
    this.#isResumed = true;
    return place;
  }

  async #readPages(start: number): Promise<void> {
    for (let offset = start, isLast = false; !isLast; ) {
      const page = await this.#read(offset);
      isLast = this.#isLast(page);
      await this.#keep({ begin: offset, offset: page.offset, srid: this.#srid, isLast });
      this.#isResumed = false;
      offset = page.offset;
    }
  }

  #keep(place: Omit<WfsPlace, keyof WfsReport>): Promise<void> {
    return this.context.checkpoint({ ...this.#report, ...place } satisfies WfsPlace);
  }

  async #read(offset: number): Promise<WfsRead> {
    const window = { startIndex: this.#report.features, count: this.#source.pageSize };
    const page = await this.#wfs.read(window, offset);
    if (page.count > 0) this.#requireCrs(page.srid);
    return page;
  }

  #requireCrs(srid: number | undefined): void {
    if (this.#report.pages > 0 && srid !== this.#srid)
      throw wrong('The pages of the feature type are in different coordinate reference systems.');
    this.#srid = srid;
  }

  /**
   * Records a page, and returns whether it is the last. A contradiction to an earlier response of the server ends the
   * import.
   */
  #isLast({ count, ids, matched }: WfsRead): boolean {
    const report = this.#report;
    const { pageSize } = this.#source;
    report.pages++;
    report.features += count;
    report.matched ??= matched ?? null;
    if (report.features > EXCHANGE_LIMITS.importFeatures)
      throw new TaskFailure(
        'too-large',
        `The feature type has more than ${EXCHANGE_LIMITS.importFeatures} features.`,
      );
    if (ids.some((id) => this.#before.has(id)))
      throw wrong('A page has features of the page before: the server does not page by STARTINDEX.');
    this.#before = new Set(ids);
    if (report.matched !== null && report.features > report.matched)
      throw wrong(`The server says that there are ${report.matched} features, and gives more.`);
    if (report.matched === null && count > pageSize)
      throw wrong(`The server gives ${count} features in a page of ${pageSize}.`);
    if (report.matched !== null) this.context.progress((FETCHED * report.features) / report.matched);
    if (report.matched === null) return count < pageSize;
    if (count === 0 && report.features < report.matched)
      throw wrong(`The server says that there are ${report.matched} features, and gives ${report.features}.`);
    return report.features === report.matched;
  }
}

function wrong(message: string): TaskFailure {
  return new TaskFailure('source-unreadable', message);
}
