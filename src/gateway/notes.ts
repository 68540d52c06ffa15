import type { CacheScope } from './admin/cache-control.js';
import type { EditNote } from './services/edits.js';

/** Cached answers were dropped by an operator. */
export interface DropNote {
  readonly dropped: CacheScope;
}

/** What the gateways of a server tell each other. */
export type Note = EditNote | DropNote;
