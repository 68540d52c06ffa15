import { statSync } from 'node:fs';
import type {
  ArchiveDraft,
  ArchiveTasks,
  DraftCursor,
  WrittenContainer,
  WrittenTile,
} from '../../../core/tiles/archives.js';
import type Database from '../../../native/sqlite.js';
import {
  advance,
  type ContainerWriter,
  discardDraft,
  getPartialIndexPath,
  getPartialPath,
  openArchiveDraft,
  publishDraft,
  readDraftCursor,
} from '../../providers/archive/write/draft.js';
import { geopackageWriter } from '../../providers/archive/write/geopackage.js';
import { mbtilesWriter } from '../../providers/archive/write/mbtiles.js';
import { pmtilesWriter } from '../../providers/archive/write/pmtiles.js';
import type { Cancellation } from '../../threads/cancellation.js';

const WRITERS: Record<WrittenContainer, ContainerWriter> = {
  mbtiles: mbtilesWriter,
  pmtiles: pmtilesWriter,
  gpkg: geopackageWriter,
};

type Input<N extends keyof ArchiveTasks> = ArchiveTasks[N]['input'];

/** Drafts that this thread writes, by their output. */
const opened = new Map<string, Database.Database>();

function buildDatabase(draft: ArchiveDraft): Database.Database {
  const archive = opened.get(draft.output);
  if (archive) return archive;
  const path =
    draft.container === 'pmtiles' ? getPartialIndexPath(draft.output) : getPartialPath(draft.output);
  const db = openArchiveDraft(path, draft, WRITERS[draft.container].create);
  opened.set(draft.output, db);
  return db;
}

export function openArchive({ draft }: Input<'archive.open'>) {
  // Another process may have written to the draft, or thrown it away, since this thread last did.
  close(draft.output);
  return { cursor: readDraftCursor(buildDatabase(draft)) };
}

export function appendTiles({ draft, tiles, from, to }: Input<'archive.append'>): null {
  return appendAll(draft, from, to, [tiles]);
}

/** Adds tiles as they come, and moves the cursor, in one transaction. */
export function appendAll(
  draft: ArchiveDraft,
  from: DraftCursor,
  to: string,
  batches: Iterable<readonly WrittenTile[]>,
): null {
  const db = buildDatabase(draft);
  advance(db, from, to, () => {
    for (const tiles of batches) WRITERS[draft.container].add(db, draft, tiles);
  });
  return null;
}

export function finishArchive({ draft, description }: Input<'archive.finish'>, cancellation?: Cancellation) {
  try {
    const db = buildDatabase(draft);
    const summary = WRITERS[draft.container].finish(db, draft, description, cancellation);
    publishDraft(draft.output, draft.container !== 'pmtiles');
    return { ...summary, bytes: statSync(draft.output).size };
  } finally {
    close(draft.output);
  }
}

export function discardArchive({ output }: Input<'archive.discard'>): null {
  close(output);
  discardDraft(output);
  return null;
}

function close(output: string): void {
  opened.get(output)?.close();
  opened.delete(output);
}
