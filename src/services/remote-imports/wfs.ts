import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../core/failure.js';
import type { IngestTasks, WfsQuery } from '../../core/ingest.js';
import { LIMITS } from '../../core/limits.js';
import type { Pools } from '../../core/tasks.js';
import type { Sealing } from '../access/sealing.js';
import { FETCHED, type Fetched, type RemoteInput, type RemoteKind } from '../import.js';
import type { JobContext } from '../jobs/kinds.js';
import { type PagePlace, restored } from './page-place.js';
import { askAgain } from './retries.js';
import { requestWith, type SecretReferences } from './secret-references.js';

/** A feature type of a WFS. */
export interface WfsSource {
  serviceUrl: string;
  version: string;
  typeName: string;
  title: string;
  /** How the server calls GeoJSON; GML is read when absent. */
  geoJson?: string | undefined;
  /** CRS of a type whose geometries name none. */
  srid?: number | undefined;
  pageSize: number;
  requestMs: number;
  /** Headers with credentials, as JSON, sealed. */
  sealedHeaders?: string;
  /** In their place: where the credentials are. */
  credentials?: SecretReferences;
  /** How often a request is sent again; never when absent. */
  maxRetries?: number;
}

export interface WfsReport {
  pages: number;
  features: number;
  /** Features of the type, as the server says. */
  matched: number | null;
}

/** Kept after each page: another run goes on behind it. */
interface WfsPlace extends WfsReport, PagePlace {
  srid?: number | undefined;
  isLast: boolean;
}

export const WFS = 'import-ogc-wfs';

/** Import of a feature type of a WFS 2.0, page by page by its index. */
export function wfs(
  pools: Pick<Pools, 'run'>,
  sealing: Sealing,
  secrets: readonly string[],
): RemoteKind<WfsSource> {
  return {
    kind: WFS,
    title: 'Import a feature type of a WFS',
    goesOn: true,
    async fetch(context, folder) {
      const headers = await headersOf(context.input.remote, sealing, secrets);
      return new WfsReading(pools, headers, context, folder).run();
    },
  };
}

async function headersOf(
  { serviceUrl, sealedHeaders, credentials = {}, requestMs }: WfsSource,
  sealing: Sealing,
  secrets: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  if (sealedHeaders !== undefined) return JSON.parse(sealing.open(sealedHeaders)) as Record<string, string>;
  return (await requestWith(new URL(serviceUrl), credentials, requestMs, secrets)).headers ?? {};
}

/** Attribute that GDAL gives the ids of GML. */
const ID_PROPERTY = 'gml_id';

/** A page that was appended to the file. */
interface Read {
  offset: number;
  count: number;
  ids: readonly string[];
  matched: number | undefined;
  srid?: number;
}

class WfsReading {
  #report: WfsReport = { pages: 0, features: 0, matched: null };
  readonly #output: string;
  readonly #source: WfsSource;
  #srid: number | undefined;
  /** Whether an earlier run read the page before. */
  #isResumed = false;
  #before: ReadonlySet<string> = new Set();

  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    private readonly headers: Readonly<Record<string, string>>,
    private readonly context: JobContext<RemoteInput<WfsSource>>,
    private readonly folder: string,
  ) {
    this.#source = context.input.remote;
    this.#output = join(folder, 'features.geojsonl');
  }

  async run(): Promise<Fetched> {
    const matched = await this.#ask('ingest.wfsCount', this.#query());
    if (matched === 0) throw wrong('The feature type has no features: there is nothing to import.');
    await this.#readAll(matched);
    const report = this.#report;
    if (report.features === 0) throw wrong('The feature type has no features: there is nothing to import.');
    const sourceCrs = this.#srid === undefined ? {} : { sourceCrs: `EPSG:${this.#srid}` };
    return { path: this.#output, title: this.#source.title, report, ...sourceCrs };
  }

  /** Goes on where an earlier run was, or begins: also where the server does not go on with what it gave that run. */
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

  /** What an earlier run kept of as many features; undefined when it has left nothing, or not all of it is there. */
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

  #query(): WfsQuery {
    const { serviceUrl: url, version, typeName, pageSize: count, requestMs: timeoutMs } = this.#source;
    return {
      url,
      version,
      typeName,
      count,
      timeoutMs,
      headers: this.headers,
      startIndex: this.#report.features,
    };
  }

  #ask<N extends keyof IngestTasks>(
    name: N,
    input: IngestTasks[N]['input'],
  ): Promise<IngestTasks[N]['output']> {
    return askAgain(this.pools, this.context, this.#source.maxRetries ?? 0, name, input);
  }

  #read(offset: number): Promise<Read> {
    const { geoJson } = this.#source;
    return geoJson === undefined ? this.#readGml(offset) : this.#readJson(geoJson, offset);
  }

  async #readJson(format: string, offset: number): Promise<Read> {
    const task = { ...this.#query(), format, output: this.#output, offset };
    const page = await this.#ask('ingest.wfsPage', task);
    if (page.count > 0) this.#requireCrs(page.srid);
    return page;
  }

  #requireCrs(srid: number | undefined): void {
    if (this.#report.pages > 0 && srid !== this.#srid)
      throw wrong('The pages of the feature type are in different coordinate reference systems.');
    this.#srid = srid;
  }

  /** GDAL knows the order of axes and the curves of GML: it writes a page as GeoJSON, which is appended. */
  async #readGml(offset: number): Promise<Read> {
    const { pools, context, folder } = this;
    const path = join(folder, 'page.gml');
    const lines = join(folder, 'page.geojsonl');
    for (const file of [path, lines, join(folder, 'page.gfs')]) await rm(file, { force: true });
    const { srid } = this.#source;
    const query = { ...this.#query(), path };
    const { isEmpty, matched, returned } = await this.#ask('ingest.wfsGml', query);
    if (isEmpty) return { offset, count: 0, ids: [], matched };
    const [layer] = await pools.run('ogr.inspect', { path }, context);
    // GDAL has put longitude first by now, whatever the name of the CRS says of it.
    const crs = layer!.crs ?? (srid === undefined ? undefined : `EPSG:${srid}`);
    const stated = crs === undefined ? {} : { sourceCrs: crs };
    const translation = {
      path,
      layer: layer!.name,
      output: lines,
      format: 'GeoJSONSeq' as const,
      table: 'page',
    };
    await pools.run('ogr.translate', { ...translation, ...stated }, context);
    const task = { path: lines, output: this.#output, offset, idProperty: ID_PROPERTY };
    const page = await pools.run('ingest.append', task, context);
    if (returned !== undefined && returned !== page.count && this.#source.version.startsWith('2'))
      throw wrong(`A page says that it has ${returned} features, and has ${page.count}.`);
    return { ...page, matched };
  }

  /** Takes account of a page. What does not fit what the server said before ends the import. */
  #isLast({ count, ids, matched }: Read): boolean {
    const report = this.#report;
    const { pageSize } = this.#source;
    report.pages++;
    report.features += count;
    report.matched ??= matched ?? null;
    if (report.features > LIMITS.importFeatures)
      throw new TaskFailure('too-large', `The feature type has more than ${LIMITS.importFeatures} features.`);
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
