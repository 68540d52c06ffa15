import type { CacheScope } from './admin/cache-control.js';
import type { EditNote } from './services/edits.js';

/** Cached answers were dropped by an operator. */
export interface DropNote {
  readonly dropped: CacheScope;
}

/** Events were appended to the feed, up to this cursor. */
export interface FedNote {
  readonly fed: number;
}

/** What the gateways of a server tell each other. */
export type Note = CacheNote | FedNote;

/** What caches must know of. */
export type CacheNote = EditNote | DropNote;
