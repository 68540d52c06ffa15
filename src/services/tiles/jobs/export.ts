import { createHash } from 'node:crypto';
import type { Pools } from '../../../core/tasks/tasks.js';
import type {
  ArchiveDraft,
  ArchiveFormat,
  WrittenArchive,
  WrittenContainer,
  WrittenTile,
} from '../../../core/tiles/archives.js';
import { archiveDescription, checkContainer } from './describe.js';
import { type MadeStep, type MakingOptions, makeTiles } from './make.js';
import { TileProgress } from './progress.js';
import type { Position, TileTally } from './tally.js';
import type { TileWork } from './work.js';

export interface TileExportOptions extends Omit<MakingOptions, 'from'> {
  pools: Pools;
  output: string;
  container: WrittenContainer;
  /** Called for each tile, and for passed-over areas. */
  progress(tally: TileTally, tilesPerSecond: number): void;
  /** Called once all tiles are in the archive, before it is completed. */
  completing?(tally: TileTally): Promise<void>;
}

export interface ExportResult {
  tally: TileTally;
  archive: WrittenArchive;
  failures: string[];
  /** True when `maxTiles` ended it. */
  cut: boolean;
}

/**
 * Maximum tiles and bytes that are written together: about a second's work, and small enough to copy between threads.
 */
const PART_TILES = 512;
const PART_BYTES = 1_048_576;
/** Addresses without a tile after which their place is kept. */
const PART_EMPTY = 10_000;

/** Stored with the tiles, in the same transaction. The archive contains exactly the counted tiles. */
interface ExportCheckpoint {
  position: Position;
  tally: TileTally;
}

/**
 * Writes the tiles of a selection into an archive. An interrupted archive with the same selection is resumed: its
 * tiles are not rendered again.
 */
export async function exportTiles(work: TileWork, options: TileExportOptions): Promise<ExportResult> {
  const { pools, signal } = options;
  checkContainer(options.container, work);
  const draft = buildDraft(work, options);
  const { cursor } = await pools.run('archive.open', { draft }, { signal });
  const saved = cursor === undefined ? undefined : (JSON.parse(cursor) as ExportCheckpoint);
  const progress = new TileProgress(work.total, saved?.tally, options.progress);
  const cut = await writeTiles(work, draft, { cursor, saved, progress }, options);
  await options.completing?.(progress.tally);
  const description = archiveDescription(work);
  const archive = await pools.run('archive.finish', { draft, description }, { signal });
  return { tally: progress.tally, archive, failures: progress.failures, cut };
}

function buildDraft(work: TileWork, { output, container }: TileExportOptions): ArchiveDraft {
  const { concurrency, ...what } = work.selection;
  const plan = createHash('sha256')
    .update(JSON.stringify([what, work.area]))
    .digest('hex');
  return { output, container, format: work.format.name as ArchiveFormat, plan };
}

interface Begun {
  cursor: string | undefined;
  saved: ExportCheckpoint | undefined;
  progress: TileProgress;
}

/** Renders the next part while one is being written. Returns true if `maxTiles` was reached. */
async function writeTiles(
  work: TileWork,
  draft: ArchiveDraft,
  { cursor, saved, progress }: Begun,
  options: TileExportOptions,
): Promise<boolean> {
  const most = work.selection.maxTiles ?? Number.POSITIVE_INFINITY;
  const part = new Part();
  let at = cursor;
  let writing: Promise<unknown> = Promise.resolve();
  const flush = async (position: Position) => {
    await writing;
    const to = JSON.stringify({ position, tally: progress.tally } satisfies ExportCheckpoint);
    writing = options.pools.run('archive.append', { draft, tiles: part.take(), from: at, to });
    // The next flush handles a rejection. Until then, it must not count as unhandled.
    writing.catch(() => {});
    at = to;
  };
  let last = saved?.position;
  let cut = progress.tally.tiles >= most;
  try {
    if (cut) return true;
    for await (const step of makeTiles(work, { ...options, from: last })) {
      progress.count(step);
      part.add(step);
      last = step.position;
      cut = progress.tally.tiles >= most;
      if (cut) break;
      if (part.full) await flush(last);
    }
    if (last && part.begun) await flush(last);
    await writing;
    return cut;
  } catch (error) {
    // The rendered tiles are written, so a later run resumes after them.
    if (last && part.begun) await flush(last).catch(() => {});
    await writing.catch(() => {});
    throw error;
  }
}

class Part {
  #tiles: WrittenTile[] = [];
  #bytes = 0;
  #addresses = 0;

  add({ at, body, count }: MadeStep): void {
    this.#addresses += count;
    if (!at || !body) return;
    this.#tiles.push({ ...at, data: body });
    this.#bytes += body.byteLength;
  }

  get begun(): boolean {
    return this.#addresses > 0;
  }

  get full(): boolean {
    return (
      this.#tiles.length >= PART_TILES ||
      this.#bytes >= PART_BYTES ||
      this.#addresses >= PART_EMPTY + PART_TILES
    );
  }

  take(): WrittenTile[] {
    const tiles = this.#tiles;
    this.#tiles = [];
    this.#bytes = 0;
    this.#addresses = 0;
    return tiles;
  }
}
