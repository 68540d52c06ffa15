import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { IngestTasks, WfsQuery } from '../../../core/exchange/ingest.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { JobContext } from '../../jobs/kinds.js';
import { askAgain } from './retries.js';

/** Attribute that GDAL gives the ids of GML. */
export const ID_PROPERTY = 'gml_id';

/** A page that was appended to the file. */
export interface WfsRead {
  readonly offset: number;
  readonly count: number;
  readonly ids: readonly string[];
  readonly matched: number | undefined;
  /** CRS that the page declares. Default: degrees. */
  readonly srid?: number;
}

/** The part of a feature type. */
export interface WfsWindow {
  readonly startIndex: number;
  readonly count: number;
}

/** A feature type of a WFS. */
export interface WfsType {
  serviceUrl: string;
  version: string;
  typeName: string;
  /** Output format for GeoJSON in the server's naming. Default: GML is read. */
  geoJson?: string | undefined;
  /** CRS of a type whose geometries name none. */
  srid?: number | undefined;
  requestMs: number;
  /** Number of retries of a request. Default: 0. */
  maxRetries?: number;
}

/** Reads features of a type, a page at a time, into a GeoJSON text sequence. */
export class WfsPages {
  /** Sentences on values that pages of GML have in another form: each is a warning once. */
  readonly #notes = new Set<string>();

  constructor(
    private readonly pools: Pick<Pools, 'run'>,
    private readonly context: Pick<JobContext, 'signal' | 'log'> & Partial<Pick<JobContext, 'warn'>>,
    private readonly source: WfsType,
    private readonly headers: Readonly<Record<string, string>>,
    /** Folder of the job. */
    private readonly folder: string,
    private readonly output: string,
  ) {}

  /** Features of the type, as the server says. */
  count(): Promise<number | null> {
    return this.#ask('ingest.wfsCount', this.#query({ startIndex: 0, count: 1 }));
  }

  read(window: WfsWindow, offset: number): Promise<WfsRead> {
    const { geoJson } = this.source;
    if (geoJson === undefined) return this.#readGml(window, offset);
    const task = { ...this.#query(window), format: geoJson, output: this.output, offset };
    return this.#ask('ingest.wfsPage', task);
  }

  #query(window: WfsWindow): WfsQuery {
    const { serviceUrl: url, version, typeName, requestMs: timeoutMs } = this.source;
    return { url, version, typeName, timeoutMs, headers: this.headers, ...window };
  }

  #ask<N extends keyof IngestTasks>(
    name: N,
    input: IngestTasks[N]['input'],
  ): Promise<IngestTasks[N]['output']> {
    return askAgain(this.pools, this.context, this.source.maxRetries ?? 0, name, input);
  }

  /** GDAL knows the order of axes and the curves of GML: it writes a page as GeoJSON, which is appended. */
  async #readGml(window: WfsWindow, offset: number): Promise<WfsRead> {
    const { pools, context, folder } = this;
    const path = join(folder, 'page.gml');
    const lines = join(folder, 'page.geojsonl');
    for (const file of [path, lines, join(folder, 'page.gfs')]) await rm(file, { force: true });
    const { srid, version } = this.source;
    const query = { ...this.#query(window), path };
    const { isEmpty, matched, returned } = await this.#ask('ingest.wfsGml', query);
    if (isEmpty) return { offset, count: 0, ids: [], matched };
    const { signal } = context;
    const [layer] = await pools.run('ogr.inspect', { path }, { signal });
    // At this point GDAL has put longitude first, regardless of the axis order of the named CRS.
    const crs = layer!.crs ?? (srid === undefined ? undefined : `EPSG:${srid}`);
    const stated = crs === undefined ? {} : { sourceCrs: crs };
    const translation = {
      path,
      layer: layer!.name,
      output: lines,
      format: 'GeoJSONSeq' as const,
      table: 'page',
    };
    const { notes = [] } = await pools.run('ogr.translate', { ...translation, ...stated }, { signal });
    for (const note of notes) if (!this.#notes.has(note)) await context.warn?.(note);
    for (const note of notes) this.#notes.add(note);
    const task = { path: lines, output: this.output, offset, idProperty: ID_PROPERTY };
    const page = await pools.run('ingest.append', task, { signal });
    if (returned !== undefined && returned !== page.count && version.startsWith('2'))
      throw new TaskFailure(
        'source-unreadable',
        `A page says that it has ${returned} features, and has ${page.count}.`,
      );
    return { ...page, matched };
  }
}
