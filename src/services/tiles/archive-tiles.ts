import type { ArchiveCollection } from '../../core/catalog/collection.js';
import { CONTENT_CODINGS } from '../../core/http/content-coding.js';
import { isRemote } from '../../core/sources/sources.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { ArchiveTile, ArchiveTileAddress, ArchiveTilesResult } from '../../core/tiles/archives.js';
import { failureFrom } from '../../workers/threads/failure.js';
import { runTask, type TaskContext } from '../kit/run-task.js';

/** Location and format of stored tiles. */
type StoredTiles = Pick<ArchiveCollection, 'file' | 'container'>;

interface TileWaiter {
  readonly at: ArchiveTileAddress;
  readonly x: TaskContext;
  resolve(tile: ArchiveTile): void;
  reject(error: unknown): void;
}

/** Maximum number of tiles in one task. */
const MAX_TOGETHER = 64;

/** Requests to one archive: waiting tiles, and running tasks. */
interface Line {
  requests: TileWaiter[];
  running: number;
}

/** Lines by archive file. An archive without requests has no line. */
const lines = new WeakMap<Pools, Map<string, Line>>();

/**
 * A tile as stored in its archive. Reading one takes less time than handing a task to another thread and back.
 * Requests of one event-loop iteration, or during a running task, are therefore read together. Rejects with an
 * `ApiError`.
 * This reduced the CPU time of a tile from 209 to 45 µs without caches (bench archives).
 */
export function archiveTile(
  x: TaskContext,
  pools: Pools,
  collection: StoredTiles,
  { zoom, row, column }: ArchiveTileAddress,
): Promise<ArchiveTile> {
  return new Promise((resolve, reject) => {
    const request: TileWaiter = { at: { zoom, row, column }, x, resolve, reject };
    // Tiles of remote archives are read separately, because each takes as long as its host needs.
    if (isRemote(collection.file)) void read(pools, collection, [request]);
    else gather(pools, collection, request);
  });
}

function gather(pools: Pools, collection: StoredTiles, request: TileWaiter): void {
  const byFile = lines.get(pools) ?? new Map<string, Line>();
  lines.set(pools, byFile);
  let line = byFile.get(collection.file);
  if (!line) {
    const begun: Line = { requests: [], running: 0 };
    line = begun;
    byFile.set(collection.file, begun);
    setImmediate(() => void readNext(pools, collection, begun));
  }
  line.requests.push(request);
  if (line.requests.length === MAX_TOGETHER) void readNext(pools, collection, line);
}

/** Reads the requests of a line, and later ones, until the line is empty. */
async function readNext(pools: Pools, collection: StoredTiles, line: Line): Promise<void> {
  line.running++;
  while (line.requests.length > 0) await read(pools, collection, line.requests.splice(0));
  if (--line.running === 0) lines.get(pools)?.delete(collection.file);
}

async function read(
  pools: Pools,
  { file, container }: StoredTiles,
  requests: readonly TileWaiter[],
): Promise<void> {
  const [{ x }] = requests as [TileWaiter];
  const context: TaskContext = {
    span: x.span,
    timing: (stage, ms) => {
      for (const one of requests) one.x.timing(stage, ms);
    },
  };
  let rest = requests;
  try {
    while (rest.length > 0) {
      const addresses = new Int32Array(rest.flatMap(({ at: { zoom, row, column } }) => [zoom, row, column]));
      const task = { path: file, container, addresses };
      const result = await runTask(context, pools, 'vector.archiveTiles', task);
      settle(rest, result);
      rest = rest.slice(result.ends.length);
    }
  } catch (error) {
    for (const { reject } of rest) reject(error);
  }
}

function settle(
  requests: readonly TileWaiter[],
  { data, ends, codings, failures }: ArchiveTilesResult,
): void {
  for (const [i, end] of ends.entries()) {
    const { resolve, reject } = requests[i]!;
    const failure = failures[i];
    // A view would keep the bytes of all tiles for as long as one is cached, and take them along to other threads.
    const tile = ends.length === 1 ? data : data.slice(ends[i - 1] ?? 0, end);
    if (failure) reject(failureFrom(failure));
    else resolve({ data: tile, encoding: CONTENT_CODINGS[codings[i]!]! });
  }
}
