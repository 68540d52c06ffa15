import type {
  ArchiveContainer,
  ArchiveInfo,
  ArchiveTile,
  ArchiveTileAddress,
  ArchiveTileOutcome,
  ArchiveTilesTask,
} from '../../core/tasks.js';
import { failureMessage } from '../failure.js';
import { inspectMBTiles, mbtilesTile } from '../providers/archive/mbtiles.js';
import { inspectPMTiles, pmtilesTile } from '../providers/archive/pmtiles.js';

type Awaitable<T> = T | Promise<T>;

const CONTAINERS: Record<
  ArchiveContainer,
  {
    inspect(path: string): Awaitable<ArchiveInfo>;
    tile(path: string, at: ArchiveTileAddress): Awaitable<ArchiveTile>;
  }
> = {
  mbtiles: { inspect: inspectMBTiles, tile: mbtilesTile },
  pmtiles: { inspect: inspectPMTiles, tile: pmtilesTile },
};

/** What a tile archive holds. */
export function archive({ path, container }: { path: string; container: ArchiveContainer }) {
  return CONTAINERS[container].inspect(path);
}

/** Tiles of an archive, byte for byte. */
export function archiveTiles({ path, container, tiles }: ArchiveTilesTask): Promise<ArchiveTileOutcome[]> {
  const { tile } = CONTAINERS[container];
  return Promise.all(
    tiles.map(async (at) => {
      try {
        return { tile: await tile(path, at) };
      } catch (error) {
        return { failure: failureMessage(error) };
      }
    }),
  );
}
