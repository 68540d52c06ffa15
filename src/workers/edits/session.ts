import type {
  Calculation,
  EditFailure,
  EditOrigin,
  EditOutcome,
  FeatureEvent,
  GeometryLoss,
} from '../../core/edits/edits.js';
import { featureText } from '../../core/edits/feature-text.js';
import type { FileWrites } from '../../core/edits/file-writes.js';
import { type FieldError, formatFieldErrors } from '../../core/errors/field-errors.js';
import type { FieldValue } from '../../core/features/feature-values.js';
import type { JsonText } from '../../core/values/json-text.js';

/** Stored feature for edits. Members are JSON text, so that all digits reach the outbox. */
export interface StoredFeature {
  /** Id as the store writes it, independent of the client's notation. */
  id: string;
  /** Identifies the stored row: see `ItemResult.row`. */
  row: string;
  /** GeoJSON geometry in the CRS of the source with every digit, or `null`. */
  geometry: string;
  /** GeoJSON geometry in CRS84, or `null`. */
  geometry84: string;
  /** GeoJSON geometry in the form that `read` requested, or `null`. */
  shown?: string;
  /** Reason why `geometry` differs from the stored geometry. */
  loss?: GeometryLoss;
  /** JSON object of all attributes. */
  properties: string;
}

/** A stored feature from the texts that a store writes of it: every digit, CRS84, and as clients see it. */
export function storedFeature(
  rowName: (stored: Uint8Array) => string,
  texts: readonly Uint8Array[],
): StoredFeature {
  const [stored, in84, shown] = texts as [Uint8Array, Uint8Array, Uint8Array?];
  const { id, geometry, properties, loss } = featureText(stored);
  return {
    id,
    row: rowName(stored),
    geometry,
    geometry84: featureText(in84).geometry,
    properties,
    ...(shown && { shown: featureText(shown).geometry }),
    ...(loss && { loss }),
  };
}

/** Form in which clients see geometries. */
export interface GeometryForm {
  crs: string;
  swapAxes: boolean;
  precision: number;
}

/** Outcomes of a transaction. It is committed if there are events. */
export interface EditAttempts {
  outcomes: EditOutcome[];
  events: readonly NewEvent[];
}

/** Values of a feature that a store computed, as in `FeatureInput`. */
export interface CalculatedFeature {
  id: string;
  values: Record<string, JsonText>;
}

/** Change that an insert or update writes. */
export interface RowChange {
  /** WKB in the CRS of the source, `null` for none; absent: it stays. */
  geometry?: Uint8Array | null;
  values: ReadonlyMap<string, FieldValue>;
  /** Columns that are set to their default, or to null if they do not have one. */
  reset: readonly string[];
}

/** An event before the store numbers it. */
export type NewEvent = Omit<FeatureEvent, 'cursor' | 'eventId' | 'time' | 'table' | keyof EditOrigin>;

/**
 * Transaction of a feature store. Steps throw `EditRefusal` for client errors. After an error the session can only
 * continue by undoing a savepoint.
 */
export interface EditSession {
  /** Starts a part that can be undone separately. */
  savepoint(): Promise<void>;
  /** Undoes the part since `savepoint`. */
  undo(): Promise<void>;
  /** Ends the part since `savepoint`, keeping it. */
  keep(): Promise<void>;
  /** The feature, locked against other writers; null when there is none of that id or the task's filter hides it. */
  read(id: string, shown?: GeometryForm): Promise<StoredFeature | null>;
  /** Whether any row has that id, visible or hidden. */
  exists(id: string): Promise<boolean>;
  /** Returns the values of the matching features, in the order of their ids: at most one more than allowed. */
  calculate(calculation: Calculation): Promise<CalculatedFeature[]>;
  /** Returns the id that the row got. */
  insert(id: string | undefined, change: RowChange): Promise<string>;
  /** Returns false unless the store reports that it changed the row: rules and triggers of a store can keep it. */
  update(id: string, change: RowChange): Promise<boolean>;
  /** Whether the row has all values of an update. */
  holds(id: string, change: RowChange): Promise<boolean>;
  /** Throws `EditRefusal` if a rule, a trigger or a policy of the store keeps the feature. */
  delete(id: string): Promise<void>;
  /**
   * Writes one or more events, and returns the cursor of the last one. Call it last, because other transactions wait
   * for it.
   */
  record(events: readonly NewEvent[]): Promise<number>;
  /** Makes all changes durable. Returns the writes to a file. */
  commit(): Promise<FileWrites | undefined>;
  rollback(): Promise<void>;
}

/** Why a store that reports no error has not carried out an edit. */
const CAUSE = 'A trigger, a rule or a policy of the database prevents it.';

export const rowNotInserted = () =>
  new EditRefusal('conflict', `The database did not store the feature. ${CAUSE}`);
export const rowNotUpdated = (id: string) =>
  new EditRefusal('conflict', `The database did not change feature '${id.slice(0, 100)}'. ${CAUSE}`);
export const rowNotDeleted = (id: string) =>
  new EditRefusal('conflict', `The database did not delete feature '${id.slice(0, 100)}'. ${CAUSE}`);
export const rowsNotDeleted = () =>
  new EditRefusal('conflict', `The database did not delete all features. ${CAUSE}`);

/** An edit that the store will not take. */
export class EditRefusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly reason: EditFailure['reason'],
    message: string,
    readonly errors?: FieldError[],
  ) {
    super(message);
  }

  /** A wrong member of the feature; `name` is a JSON pointer. */
  static member(name: string, detail: string): EditRefusal {
    return EditRefusal.members([{ name, detail }]);
  }

  /** Several wrong members; the message has a sentence for each. */
  static members(errors: FieldError[]): EditRefusal {
    return new EditRefusal('invalid', formatFieldErrors(errors), errors);
  }

  get outcome(): EditFailure {
    const { reason, message, errors } = this;
    return { ok: false, reason, message, ...(errors ? { errors } : {}) };
  }
}
