import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteLevel, RemoteTileSet } from '../../../core/exchange/ingest.js';
import { makeFolder } from '../../../core/files/own-folder.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import {
  type ArchiveDraft,
  type ArchiveFormat,
  isVectorArchive,
  type WrittenTile,
} from '../../../core/tiles/archives.js';
import { WEB_MERCATOR_QUAD } from '../../../core/tiles/tile-matrix.js';
import type { JobRow } from '../../../stores/jobs/jobs.js';
import type { StateCipher } from '../../access/keys/state-cipher.js';
import type { JobEngine, SubmitOptions } from '../../jobs/engine.js';
import type { JobContext, JobKind } from '../../jobs/kinds.js';
import { tileGrid } from '../../tiles/jobs/describe.js';
import type { Tilesets } from './tilesets.js';

export interface WmtsInput extends Pick<RemoteTileSet, 'title' | 'description' | 'extent84'> {
  /** Id of the collection that the tiles become. */
  name: string;
  levels: RemoteLevel[];
  format: ArchiveFormat;
  /** URL with `{TileMatrix}`, `{TileRow}` and `{TileCol}`. */
  template: string;
  requestMs: number;
  /** Headers with credentials, as JSON, sealed. */
  sealedHeaders: string;
}

export interface WmtsOutcome {
  persisted: number;
  /** Addresses for which the server has no tile. */
  absent: number;
}

export interface WmtsImportsDeps {
  pools: Pick<Pools, 'run'>;
  jobs: JobEngine;
  tilesets: Tilesets;
  sealing: StateCipher;
}

const KIND = 'import-wmts';
/** Number of tiles that are requested and written together. */
const TOGETHER = 64;
const COPIED = 0.95;

/** Progress of a draft: the number of completed tile addresses. */
interface Cursor extends WmtsOutcome {
  offset: number;
}

/**
 * Copies the tiles of a WMTS tile set into a PMTiles archive, which is published once it is complete. The draft
 * stores its progress, so a job whose process ends resumes there.
 */
export class WmtsImports {
  constructor(private readonly deps: WmtsImportsDeps) {
    deps.jobs.register(this.#kind());
  }

  /** Submits an import. Throws `conflict` for the id of a collection that is not an imported tileset. */
  async submit(input: WmtsInput, options: SubmitOptions): Promise<JobRow> {
    await this.deps.tilesets.refuseTakenAnywhere(input.name);
    const resources = [`collection:${input.name}`];
    return (await this.deps.jobs.submit(KIND, input, { resources, ...options })).job;
  }

  #kind(): JobKind<WmtsInput, WmtsOutcome> {
    return {
      kind: KIND,
      title: 'Import tiles of a WMTS',
      console: 'TileCache',
      operationType: 3,
      resumable: true,
      isLong: true,
      ofFolder: true,
      run: (context) => this.#run(context),
      cleanup: async (_, id) => {
        await this.deps.pools.run('archive.discard', { output: this.#pathOf(id) });
        await rm(this.#pathOf(id), { force: true });
      },
    };
  }

  async #run(context: JobContext<WmtsInput>): Promise<WmtsOutcome> {
    const { input, id } = context;
    const path = this.#pathOf(id);
    let { outcome } = (context.saved ?? {}) as { outcome?: WmtsOutcome };
    if (!outcome) {
      const total = countRemoteTiles(input.levels);
      outcome = await context.step('copy', `Asking for ${total} tiles`, () =>
        this.#copy(context, path, total),
      );
      await context.checkpoint({ outcome });
    }
    context.progress(COPIED);
    await context.step('publish', `Publishing ${input.name}`, () =>
      this.deps.tilesets.publish(path, input.name, context),
    );
    return outcome;
  }

  async #copy(context: JobContext<WmtsInput>, path: string, total: number): Promise<WmtsOutcome> {
    const { input, id, signal } = context;
    const { pools, tilesets, sealing } = this.deps;
    await makeFolder(tilesets.drafts);
    // Completed by a run that died before it could say so.
    if (existsSync(path)) await rm(path);
    const draft: ArchiveDraft = { output: path, container: 'pmtiles', format: input.format, plan: id };
    const { cursor } = await pools.run('archive.open', { draft }, { signal });
    let at: Cursor = cursor === undefined ? { offset: 0, persisted: 0, absent: 0 } : JSON.parse(cursor);
    let from = cursor;
    const headers = JSON.parse(sealing.open(input.sealedHeaders)) as Record<string, string>;
    while (at.offset < total) {
      signal.throwIfAborted();
      const addresses = addressesFrom(input.levels, at.offset, TOGETHER);
      const urls = addresses.map((one) => buildUrl(input.template, one));
      const bodies = await pools.run(
        'ingest.tiles',
        { urls, headers, timeoutMs: input.requestMs },
        { signal },
      );
      const tiles = addresses.flatMap(({ zoom, row, column }, i): WrittenTile[] => {
        const data = bodies[i];
        return data ? [{ zoom, row, column, data }] : [];
      });
      const offset = at.offset + addresses.length;
      const absent = at.absent + addresses.length - tiles.length;
      at = { offset, persisted: at.persisted + tiles.length, absent };
      const to = JSON.stringify(at);
      await pools.run('archive.append', { draft, tiles, from, to }, { signal });
      from = to;
      context.progress((COPIED * at.offset) / total);
    }
    if (at.persisted === 0)
      throw new TaskFailure('source-unreadable', 'The server has none of the requested tiles.');
    await pools.run('archive.finish', { draft, description: buildDescription(input) }, { signal });
    return { persisted: at.persisted, absent: at.absent };
  }

  #pathOf(id: string): string {
    return join(this.deps.tilesets.drafts, `${id}.pmtiles`);
  }
}

function buildDescription({ name, title, description, extent84, levels, format }: WmtsInput) {
  const [minZoom, maxZoom] = [levels[0]!.zoom, levels.at(-1)!.zoom];
  return {
    name,
    title: title ?? name,
    ...(description ? { description } : {}),
    bounds: extent84,
    minZoom,
    maxZoom,
    grid: tileGrid(WEB_MERCATOR_QUAD, minZoom, maxZoom),
    ...(isVectorArchive(format) ? { vectorLayers: [] } : {}),
  };
}

export function countRemoteTiles(levels: readonly RemoteLevel[]): number {
  return levels.reduce((sum, level) => sum + countTiles(level), 0);
}

function countTiles({ minRow, maxRow, minColumn, maxColumn }: RemoteLevel): number {
  return Math.max(0, maxRow - minRow + 1) * Math.max(0, maxColumn - minColumn + 1);
}

interface Address {
  matrix: string;
  zoom: number;
  row: number;
  column: number;
}

/** Addresses in their order: level by level, row by row. */
function addressesFrom(levels: readonly RemoteLevel[], first: number, max: number): Address[] {
  const addresses: Address[] = [];
  let before = 0;
  for (const level of levels) {
    const count = countTiles(level);
    const width = level.maxColumn - level.minColumn + 1;
    for (let i = Math.max(0, first - before); i < count && addresses.length < max; i++) {
      const [row, column] = [level.minRow + Math.floor(i / width), level.minColumn + (i % width)];
      addresses.push({ matrix: level.matrix, zoom: level.zoom, row, column });
    }
    before += count;
    if (addresses.length === max) break;
  }
  return addresses;
}

function buildUrl(template: string, { matrix, row, column }: Address): string {
  return template
    .replace(/\{TileMatrix\}/gi, encodeURIComponent(matrix))
    .replace(/\{TileRow\}/gi, String(row))
    .replace(/\{TileCol\}/gi, String(column));
}
