import type { CollectionChange, FileWrites } from '../edits/edits.js';

/** Something that an operator should know of now. */
export interface Alert {
  readonly kind:
    | 'certificate-expiring'
    | 'delivery-failing'
    | 'layer-closed'
    | 'source-quarantined'
    | 'slow-consumer';
  readonly severity: 'warning' | 'error';
  /** What it is about: a store, a file, a session. */
  readonly subject: string;
  readonly message: string;
}
export type CacheScope =
  | { kind: 'all' }
  | { kind: 'metadata' }
  | { kind: 'collection'; collectionId: string }
  | { kind: 'layer'; layerId: number; serviceId?: string }
  | { kind: 'service'; serviceId: string }
  /** `*` stands for any characters. */
  | { kind: 'pattern'; pattern: string };
/** What all processes of a server must know of a committed edit. */
export interface EditNote {
  readonly collection: string;
  readonly change: CollectionChange;
}
/** Edits of a file were moved from its log into the file. */
export interface RestedNote {
  readonly rested: string;
  readonly writes: FileWrites;
}
/** A process has taken over all announcements up to a version. */
interface AppliedNote {
  readonly applied: number;
  readonly instance: string;
}
/** Something was announced. */
interface AnnouncedNote {
  readonly announced: number;
}
/** A process has come, or is going. */
interface MembersNote {
  readonly members: string;
}
/** A question to the other gateways of the server. */
export interface AskNote {
  readonly ask: string;
  readonly topic: string;
  readonly about: unknown;
}
export interface AnswerNote {
  readonly answerTo: string;
  readonly answer: unknown;
}
/** Cached answers were dropped by an operator. */
interface DropNote {
  readonly dropped: CacheScope;
}
/** Events were appended to the feed, up to this cursor. */
interface FedNote {
  readonly fed: number;
}
/** Operators should know of something. */
interface AlertNote {
  readonly alert: Alert;
}
/** What processes that share a state tell each other of it. */
export type ClusterNote = AppliedNote | AnnouncedNote | MembersNote;
/** What gateways tell each other. */
export type Note = CacheNote | FedNote | AlertNote | AskNote | AnswerNote | ClusterNote;
/** What caches must know of. */
export type CacheNote = EditNote | DropNote | RestedNote;
