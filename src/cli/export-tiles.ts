import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { extname, resolve } from 'node:path';
import { SingleBar } from 'cli-progress';
import { hasStoredTiles } from '../core/catalog/abilities.js';
import { ApiError } from '../core/errors/errors.js';
import { TaskFailure } from '../core/errors/failure.js';
import { WRITTEN_CONTAINERS, type WrittenContainer } from '../core/tiles/archives.js';
import { type ExportResult, exportTiles } from '../services/tiles/jobs/export.js';
import type { TileJobRequest } from '../services/tiles/jobs/tally.js';
import { tileWork, usualFormat } from '../services/tiles/jobs/work.js';
import { makeTile } from '../services/tiles/make.js';
import { type CatalogOptions, type LocalCatalog, withCatalog } from './catalog.js';
import { CommandError } from './command-error.js';
import { parseBoxOption, readFormat, readZooms, type TileOptions } from './tile-options.js';

export interface ExportTilesOptions extends CatalogOptions, TileOptions {
  tiles: string;
}

/** Exit code that a shell expects after Ctrl-C. */
const INTERRUPTED = 130;
/** Tiles under way per thread: the next one waits in the queue while one is written. */
const PER_THREAD = 2;

/**
 * `graticule export COLLECTIONS --tiles FILE`: the file is written completely or not at all. Ctrl-C removes the
 * unfinished file. After a crash, the same command continues.
 */
export async function exportTileArchive(ids: string, options: ExportTilesOptions): Promise<void> {
  const output = resolve(options.tiles);
  const container = parseContainer(options.tiles);
  if (existsSync(output))
    throw new CommandError(
      `${options.tiles}: the file already exists. Name another file, or remove it first.`,
    );
  const zooms = readZooms(options.zooms);
  const bbox = parseBoxOption(options.bbox);
  const stop = new AbortController();
  const interrupt = () => stop.abort(new Error('interrupted'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  const threads = options.concurrency ?? availableParallelism();
  const run = async (local: LocalCatalog) => {
    const selection: TileJobRequest = {
      collections: ids.split(',').map((id) => id.trim()),
      tileMatrixSetId: options.set ?? 'WebMercatorQuad',
      ...zooms,
      format: readFormat(options),
      ...(bbox ? { bbox } : {}),
      concurrency: threads * PER_THREAD,
    };
    return write(selection, { output, container, signal: stop.signal }, local);
  };
  try {
    tell(await withCatalog(options, run, threads), options.tiles);
  } catch (error) {
    fail(error, stop.signal);
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
  }
}

function parseContainer(file: string): WrittenContainer {
  const container = WRITTEN_CONTAINERS.get(extname(file).toLowerCase());
  if (container) return container;
  const endings = [...WRITTEN_CONTAINERS.keys()].join(' ');
  throw new CommandError(`${file}: the extension is not that of a tile archive. Use ${endings}.`);
}

interface Target {
  output: string;
  container: WrittenContainer;
  signal: AbortSignal;
}

async function write(
  selection: TileJobRequest,
  { output, container, signal }: Target,
  { catalog, pools }: LocalCatalog,
): Promise<ExportResult> {
  const collections = selection.collections.flatMap((id) => catalog.byId(id) ?? []);
  const images = container === 'gpkg' && !hasStoredTiles(collections[0]);
  const format = selection.format || (images ? 'png' : usualFormat(collections));
  const work = tileWork({ ...selection, format }, catalog);
  const bar = new SingleBar({
    format: '  {bar} {percentage}%  {tiles} tiles, {rate}/s, {eta_formatted} left',
    barsize: 30,
    hideCursor: true,
    etaBuffer: 200,
  });
  bar.start(work.total, 0, { tiles: 0, rate: 0 });
  try {
    return await exportTiles(work, {
      pools,
      signal,
      output,
      container,
      concurrency: selection.concurrency!,
      make: (request) => makeTile({ signal, timing: () => {} }, pools, request),
      // No other callers wait for these workers.
      room: async () => {},
      progress: ({ processed, tiles }, rate) => bar.update(processed, { tiles, rate: Math.round(rate) }),
    });
  } catch (error) {
    if (signal.aborted) await pools.run('archive.discard', { output });
    throw error;
  } finally {
    bar.stop();
  }
}

function tell({ archive, tally, failures }: ExportResult, file: string): void {
  process.stdout.write(
    `wrote ${archive.tiles} tiles (${archive.contents} different, ${archive.bytes} bytes) to ${file}\n`,
  );
  if (failures.length > 0) process.stderr.write(`${failures.join('\n')}\n`);
  if (tally.lossy > 0) process.stderr.write(`${tally.lossy} tiles lack rasters that could not be read\n`);
  if (tally.failed > 0) process.stderr.write(`${tally.failed} tiles could not be made\n`);
  if (tally.lossy + tally.failed > 0) process.exitCode = 1;
}

function fail(error: unknown, signal: AbortSignal): void {
  if (signal.aborted) {
    process.stderr.write('interrupted; no file was written\n');
    process.exitCode = INTERRUPTED;
    return;
  }
  if (error instanceof ApiError && error.code === 'invalid-request') throw new CommandError(error.message);
  if (!(error instanceof ApiError || error instanceof TaskFailure)) throw error;
  process.stderr.write(`the export failed: ${error.message}\n`);
  process.exitCode = 1;
}
