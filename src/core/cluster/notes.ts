import type { CollectionChange } from '../edits/edits.js';
import type { FileWrites } from '../edits/file-writes.js';

/** Something that an operator should know of now. */
export interface Notice {
  readonly kind:
    | 'certificate-expiring'
    | 'delivery-failing'
    | 'layer-closed'
    | 'source-quarantined'
    | 'slow-consumer';
  readonly severity: 'warning' | 'error';
  /** Object of the message: a store, a file, a session. */
  readonly subject: string;
  readonly message: string;
}
export type CacheScope =
  | { kind: 'all' }
  | { kind: 'metadata' }
  | { kind: 'collection'; collectionId: string }
  | { kind: 'layer'; layerId: number; serviceId?: string }
  | { kind: 'service'; serviceId: string }
  /** `*` matches any characters. */
  | { kind: 'pattern'; pattern: string };
/** Message about a committed edit for all processes of a server. */
export interface EditNote {
  readonly collection: string;
  readonly change: CollectionChange;
}
/** Edits of a file were moved from its log into the file. */
export interface RestedNote {
  readonly rested: string;
  readonly writes: FileWrites;
}
/** A process has applied all announcements up to a version. */
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
  /** The responding process. */
  readonly from: string;
  readonly answer: unknown;
}
/** An operator evicted cached responses. */
interface DropNote {
  readonly dropped: CacheScope;
}
/** Events were appended to the feed, up to this cursor. */
interface FedNote {
  readonly fed: number;
}
/** Message of the alert channel `websocket` for the subscribers of all servers. */
export interface AlertFrame {
  readonly alertId: string;
  readonly kind: string;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly subject: string;
  readonly message: string;
  /** Layers that it is about. A subscriber must be able to read them. */
  readonly layerIds: readonly number[];
  /** Tenant of the rule. */
  readonly tenant?: string;
  /** JSON of the message, for subscribers without restrictions. */
  readonly json: string;
}
interface AlertNote {
  readonly alert: AlertFrame;
}
/** Operators should know of something. */
interface NoticeNote {
  readonly notice: Notice;
}
/** Messages between processes with a common state. */
export type ClusterNote = AppliedNote | AnnouncedNote | MembersNote;
/** Messages between gateways. */
export type Note = CacheNote | FedNote | NoticeNote | AlertNote | AskNote | AnswerNote | ClusterNote;
/** Messages for caches. */
export type CacheNote = EditNote | DropNote | RestedNote;
