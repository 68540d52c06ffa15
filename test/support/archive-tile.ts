import { CONTENT_CODINGS } from '../../src/core/http/content-coding.js';
import type { ArchiveContainer, ArchiveTile, ArchiveTileAddress } from '../../src/core/tiles/archives.js';
import { failureFrom } from '../../src/workers/threads/failure.js';
import { archiveTiles } from '../../src/workers/tiles/archive.js';

/** One tile of an archive; rejects as a task does. */
export async function archiveTile({
  path,
  container,
  ...at
}: ArchiveTileAddress & { path: string; container: ArchiveContainer }): Promise<ArchiveTile> {
  const addresses = Int32Array.of(at.zoom, at.row, at.column);
  const { data, codings, failures } = await archiveTiles({ path, container, addresses });
  if (failures[0]) throw failureFrom(failures[0]);
  return { data, encoding: CONTENT_CODINGS[codings[0]!]! };
}
