import type { ArchiveContainer, ArchiveTile, ArchiveTileAddress } from '../../src/core/tasks.js';
import { failureFrom } from '../../src/workers/failure.js';
import { archiveTiles } from '../../src/workers/vector/archive.js';

/** One tile of an archive; rejects as a task does. */
export async function archiveTile({
  path,
  container,
  ...at
}: ArchiveTileAddress & { path: string; container: ArchiveContainer }): Promise<ArchiveTile> {
  const [outcome] = await archiveTiles({ path, container, tiles: [at] });
  if ('tile' in outcome!) return outcome.tile;
  throw failureFrom(outcome!.failure);
}
