import type { ArchiveContainer, ArchiveInfo, ArchiveTile, ArchiveTileTask } from '../../core/tasks.js';
import { inspectMBTiles, mbtilesTile } from '../providers/archive/mbtiles.js';
import { inspectPMTiles, pmtilesTile } from '../providers/archive/pmtiles.js';

type Awaitable<T> = T | Promise<T>;

const CONTAINERS: Record<
  ArchiveContainer,
  { inspect(path: string): Awaitable<ArchiveInfo>; tile(task: ArchiveTileTask): Awaitable<ArchiveTile> }
> = {
  mbtiles: { inspect: inspectMBTiles, tile: mbtilesTile },
  pmtiles: { inspect: inspectPMTiles, tile: pmtilesTile },
};

/** What a tile archive holds. */
export function archive({ path, container }: { path: string; container: ArchiveContainer }) {
  return CONTAINERS[container].inspect(path);
}

/** One tile of an archive, byte for byte. */
export function archiveTile(task: ArchiveTileTask) {
  return CONTAINERS[task.container].tile(task);
}
