import type { Alert } from './alerts.js';
import type { CacheScope } from './cache/cache-control.js';
import type { AnnouncedNote, AppliedNote, MembersNote } from './cluster/cluster.js';
import type { EditNote, RestedNote } from './edits.js';
import type { AnswerNote, AskNote } from './peers.js';

/** Cached answers were dropped by an operator. */
export interface DropNote {
  readonly dropped: CacheScope;
}

/** Events were appended to the feed, up to this cursor. */
export interface FedNote {
  readonly fed: number;
}

/** Operators should know of something. */
export interface AlertNote {
  readonly alert: Alert;
}

/** What processes that share a state tell each other of it. */
export type ClusterNote = AppliedNote | AnnouncedNote | MembersNote;

/** What gateways tell each other. */
export type Note = CacheNote | FedNote | AlertNote | AskNote | AnswerNote | ClusterNote;

/** What caches must know of. */
export type CacheNote = EditNote | DropNote | RestedNote;
