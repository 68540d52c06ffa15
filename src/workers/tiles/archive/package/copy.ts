import type { ArchiveDraft, ArchiveFormat, WrittenTile } from '../../../../core/tiles/archives.js';
import {
  PACKAGE_ENDINGS,
  type PackagePart,
  type TilePackage,
  type TilePackageTasks,
} from '../../../../core/tiles/tile-packages.js';
import { detectImageFormat, unsupported } from '../../../providers/archive/archive-tile.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { appendAll } from '../write.js';
import { readTile } from './bundled-tile.js';
import { databaseTiles, describeDatabase } from './database.js';
import { describePackage, readBundleIndex } from './esri.js';
import { ZippedPackage } from './zip-package.js';

/** Bodies of the tasks that read tile packages. */

type Input<N extends keyof TilePackageTasks> = TilePackageTasks[N]['input'];

/** Tiles that go into a draft with one call of its writer. */
const TOGETHER = 256;

const isDatabase = (path: string) => /\.(mbtiles|gpkg)$/.test(path);

export async function readPackage(
  { path }: Input<'archive.package'>,
  cancellation: Cancellation,
): Promise<TilePackage> {
  if (!PACKAGE_ENDINGS.some((ending) => path.endsWith(ending))) throw unsupported('its name tells no format');
  if (isDatabase(path)) return describeDatabase(path);
  return ZippedPackage.reading(path, (zip) => describePackage(zip, cancellation));
}

export async function copyPart(task: Input<'archive.copy'>, cancellation: Cancellation): Promise<null> {
  const { path, part, storageFormat } = task;
  if (isDatabase(path)) return write(task, databaseTiles(path, part, storageFormat), cancellation);
  return ZippedPackage.reading(path, async (zip) => {
    const index = await readBundleIndex(zip, part, storageFormat);
    return zip.asFile(part.name, (fd) => write(task, bundledTiles(fd, index, part), cancellation));
  });
}

function* bundledTiles(
  fd: number,
  index: Awaited<ReturnType<typeof readBundleIndex>>,
  { zoom }: PackagePart,
): Iterable<WrittenTile> {
  for (const tile of index) yield { zoom, row: tile.row, column: tile.column, data: readTile(fd, tile) };
}

/** All of them with the cursor, or none. */
function write(
  { draft, from, to }: Input<'archive.copy'>,
  tiles: Iterable<WrittenTile>,
  cancellation: Cancellation,
): null {
  return appendAll(draft, from, to, batches(tiles, draft, cancellation));
}

function* batches(
  tiles: Iterable<WrittenTile>,
  { format }: ArchiveDraft,
  cancellation: Cancellation,
): Iterable<WrittenTile[]> {
  let batch: WrittenTile[] = [];
  for (const tile of tiles) {
    requireFormat(tile.data, format);
    batch.push(tile);
    if (batch.length < TOGETHER) continue;
    cancellation.check();
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function requireFormat(data: Uint8Array, format: ArchiveFormat): void {
  // Vector tiles can be compressed, or start with any field.
  if (format !== 'mvt' && detectImageFormat(data) !== format)
    throw unsupported('it has tiles of several formats (MIXED), which one archive cannot hold');
}
