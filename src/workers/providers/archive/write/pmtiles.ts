import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { TaskFailure } from '../../../../core/errors/failure.js';
import {
  type ArchiveDescription,
  type ArchiveDraft,
  isVectorArchive,
  type WrittenTile,
} from '../../../../core/tiles/archives.js';
import { pmtilesId } from '../../../../core/values/hilbert.js';
import type Database from '../../../../native/sqlite.js';
import type { Cancellation } from '../../../threads/cancellation.js';
import { COMPRESSION, FORMATS, HEADER_BYTES, PMTILES_HEAD_BYTES } from '../pmtiles-header.js';
import { type ContainerWriter, countRows, getPartialPath, prepared, storeContent, stored } from './draft.js';
import { type DirectoryEntry, directory, runs } from './pmtiles-directory.js';

type Db = Database.Database;

/** Header and root directory lie within the first 16 KiB; the tiles follow, and behind them leaves and metadata. */
const TILES_AT = PMTILES_HEAD_BYTES;
/** Entries of a leaf directory. */
const LEAF = 4096;
/** Leaves that a root directory surely has room for. */
const LEAVES = 1500;
/** Rows between checks of the cancellation. */
const CHECK_EVERY = 10_000;

/**
 * Writer of PMTiles 3. Tiles are written to their final position in the file, equal tiles only once. The database
 * next to the file stores the position of each tile by its id. Directories are written from it in one pass, so memory
 * contains only one leaf.
 */
export const pmtilesWriter: ContainerWriter = {
  create(db) {
    db.exec(`CREATE TABLE entries (id INTEGER PRIMARY KEY, place INTEGER NOT NULL);
      CREATE TABLE places (offset INTEGER PRIMARY KEY, length INTEGER NOT NULL)`);
  },
  add(db, draft, tiles) {
    const fd = openPartial(draft.output);
    try {
      addTiles(db, draft, fd, tiles);
      // The tiles must be on the disk before the database refers to them, also after a power failure.
      fdatasyncSync(fd);
    } finally {
      closeSync(fd);
    }
  },
  finish(db, draft, description, cancellation) {
    const fd = openPartial(draft.output);
    try {
      const summary = complete(db, draft, description, fd, cancellation);
      db.close();
      return summary;
    } finally {
      closeSync(fd);
    }
  },
};

/**
 * Opens the file neither truncated nor for appending, because new tiles overwrite the bytes behind the known tiles.
 */
function openPartial(output: string): number {
  const path = getPartialPath(output);
  closeSync(openSync(path, 'a'));
  return openSync(path, 'r+');
}

function addTiles(db: Db, draft: ArchiveDraft, fd: number, tiles: readonly WrittenTile[]): void {
  const entry = prepared(db, 'INSERT INTO entries VALUES (?, ?)');
  const place = prepared(db, 'INSERT INTO places VALUES (?, ?)');
  let end = endOfTiles(db);
  const store = (data: Uint8Array) => {
    writeAll(fd, data, TILES_AT + end);
    place.run(end, data.byteLength);
    const at = end;
    end += data.byteLength;
    return at;
  };
  for (const { zoom, row, column, data } of tiles)
    entry.run(pmtilesId(zoom, row, column), storeContent(db, stored(draft, data), store));
}

function endOfTiles(db: Db): number {
  const sql = 'SELECT offset + length FROM places ORDER BY offset DESC LIMIT 1';
  return (db.prepare(sql).pluck().get() as number | undefined) ?? 0;
}

function writeAll(fd: number, data: Uint8Array, position: number): void {
  for (let done = 0; done < data.byteLength; )
    done += writeSync(fd, data, done, data.byteLength - done, position + done);
}

interface Directories {
  root: Buffer;
  entries: number;
  leafBytes: number;
  /** Whether tiles are stored in the order of their ids. */
  clustered: boolean;
}

function complete(
  db: Db,
  draft: ArchiveDraft,
  description: ArchiveDescription,
  fd: number,
  cancellation?: Cancellation,
) {
  const tiles = countRows(db, 'entries');
  const contents = countRows(db, 'places');
  const tileBytes = endOfTiles(db);
  const leavesAt = TILES_AT + tileBytes;
  const directories = writeDirectories(db, fd, { tiles, leavesAt }, cancellation);
  const metadataAt = leavesAt + directories.leafBytes;
  const metadata = gzipSync(JSON.stringify(buildMetadata(description)));
  writeAll(fd, metadata, metadataAt);
  const head = header(draft, description, {
    sections: [
      [HEADER_BYTES, directories.root.length],
      [metadataAt, metadata.length],
      [leavesAt, directories.leafBytes],
      [TILES_AT, tileBytes],
    ],
    counts: [tiles, directories.entries, contents],
    clustered: directories.clustered,
  });
  writeAll(fd, Buffer.concat([head, directories.root], TILES_AT), 0);
  return { tiles, contents };
}

function writeDirectories(
  db: Db,
  fd: number,
  { tiles, leavesAt }: { tiles: number; leavesAt: number },
  cancellation?: Cancellation,
): Directories {
  const leafSize = Math.max(LEAF, Math.ceil(tiles / LEAVES));
  const root: DirectoryEntry[] = [];
  let leaf: DirectoryEntry[] = [];
  let leafBytes = 0;
  let entries = 0;
  let clustered = true;
  let next = 0;
  const flush = () => {
    const bytes = directory(leaf);
    writeAll(fd, bytes, leavesAt + leafBytes);
    root.push({ id: leaf[0]!.id, runLength: 0, length: bytes.length, offset: leafBytes });
    leafBytes += bytes.length;
    leaf = [];
  };
  for (const entry of runs(placed(db, cancellation))) {
    if (entry.offset > next) clustered = false;
    next = Math.max(next, entry.offset + entry.length);
    if (leaf.length === leafSize) flush();
    leaf.push(entry);
    entries++;
  }
  const single = root.length === 0 ? directory(leaf) : undefined;
  if (single && single.length <= TILES_AT - HEADER_BYTES)
    return { root: single, entries, leafBytes, clustered };
  flush();
  const bytes = directory(root);
  if (bytes.length > TILES_AT - HEADER_BYTES)
    throw new TaskFailure('too-large', 'The archive has too many tiles for one file.');
  return { root: bytes, entries, leafBytes, clustered };
}

function* placed(db: Db, cancellation?: Cancellation) {
  const sql = `SELECT e.id AS id, p.offset AS offset, p.length AS length
    FROM entries e JOIN places p ON p.offset = e.place ORDER BY e.id`;
  let count = 0;
  for (const row of db.prepare(sql).iterate()) {
    if (++count % CHECK_EVERY === 0) cancellation?.check();
    yield row as { id: number; offset: number; length: number };
  }
}

function buildMetadata(about: ArchiveDescription): Record<string, unknown> {
  return {
    name: about.title,
    ...(about.description ? { description: about.description } : {}),
    ...(about.attribution ? { attribution: about.attribution } : {}),
    type: 'overlay',
    version: '1',
    ...(about.vectorLayers ? { vector_layers: about.vectorLayers } : {}),
  };
}

interface Layout {
  /** Offset and length of root directory, metadata, leaf directories and tiles. */
  sections: (readonly [number, number])[];
  /** Addressed tiles, entries, contents. */
  counts: readonly number[];
  clustered: boolean;
}

function header({ format }: ArchiveDraft, about: ArchiveDescription, layout: Layout): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write('PMTiles');
  bytes[7] = 3;
  const numbers = [...layout.sections.flat(), ...layout.counts];
  numbers.forEach((n, i) => {
    bytes.writeBigUInt64LE(BigInt(n), 8 + i * 8);
  });
  const tileCompression = isVectorArchive(format) ? COMPRESSION.gzip : COMPRESSION.none;
  bytes.set([layout.clustered ? 1 : 0, COMPRESSION.gzip, tileCompression, FORMATS.indexOf(format)], 96);
  bytes.set([about.minZoom, about.maxZoom], 100);
  const degrees = (value: number, at: number) => bytes.writeInt32LE(Math.round(value * 1e7), at);
  about.bounds.forEach((value, i) => {
    degrees(value, 102 + i * 4);
  });
  bytes[118] = about.minZoom;
  degrees((about.bounds[0] + about.bounds[2]) / 2, 119);
  degrees((about.bounds[1] + about.bounds[3]) / 2, 123);
  return bytes;
}
