/** Edit requests to a feature store, and their results. */

import type { Expression, Operand } from '../cql2/ast.js';
import type { FieldError } from '../errors/field-errors.js';
import type { Box } from '../geometry/box.js';
import type { Field, VectorSource } from '../sources/vector-source.js';
import type { JsonText } from '../values/json-text.js';
import type { PresenceMark } from '../values/presence.js';

/** A feature as a client sent it; what is absent was not sent. */
export interface FeatureInput {
  /** A GeoJSON geometry as JSON text, or `null`. */
  geometry?: string;
  /** Attributes by name, each as the JSON text that came: no digit of a number is lost before its field is known. */
  values?: Readonly<Record<string, JsonText>>;
  /** Set if the values are GeoServices attributes, with times in milliseconds and JSON as one string. */
  areAttributes?: true;
  /** Objects of JSON replace what is stored. Without it an update patches their members (RFC 7396). */
  replacesJson?: true;
}

/**
 * Why clients receive a geometry that differs from the stored one: curves became lines, faces of a surface became
 * polygons, measures (M) are omitted, or the geometry or a part of it is unreadable.
 */
export type GeometryLoss = 'arcs' | 'surface' | 'measures' | 'unreadable';

interface EditAddress {
  id: string;
  /** The edit happens only while the stored row has this name (see `ItemResult.row`). */
  row?: string;
}

/** Creates a feature. The `id` of the client is used unless only the store generates keys. */
interface CreateOperation {
  type: 'create';
  id?: string;
  feature: FeatureInput;
}

/** Replaces a feature. Omitted properties become null or the default of their column. */
interface ReplaceOperation extends EditAddress {
  type: 'replace';
  feature: FeatureInput;
}

/** JSON merge patch (RFC 7396): what the feature does not name stays. */
interface UpdateOperation extends EditAddress {
  type: 'update';
  feature: FeatureInput;
}

interface DeleteOperation extends EditAddress {
  type: 'delete';
}

export type EditOperation = CreateOperation | ReplaceOperation | UpdateOperation | DeleteOperation;

/**
 * Failure mode. `each`: each operation succeeds or fails separately. `failFast`: operations after the first failure
 * are not executed. `atomic`: one failure undoes all operations.
 */
export type EditMode = 'each' | 'failFast' | 'atomic';

/** Whose edit it is and how it came: for the outbox. */
export interface EditOrigin {
  collection: string;
  layerId: number;
  /** Protocol in feature events, such as `OGC-Features`. */
  protocol: string;
  requestId: string;
  /** Id of the principal. */
  actor: string;
}

/** Attributes that get new values in each feature that passes: in all of them, or in none. */
export interface Calculation {
  /** Filter of the rows that are visible to the caller. Default: all rows. */
  filter?: Expression;
  /** Values that are the same for all, as in `FeatureInput`. */
  values: Readonly<Record<string, JsonText>>;
  /** Computed values by field: operands checked by `checkOperand` for SQL writers. */
  expressions: Readonly<Record<string, Operand>>;
  /** No more features than this are changed: the calculation is refused. */
  most: number;
}

/** Field of a mask. */
export type MaskedField = Pick<Field, 'name' | 'type' | 'mask'>;

export interface EditTask {
  source: VectorSource;
  operations: EditOperation[];
  /** Calculation in place of operations. Its outcomes are those of the matching features, by id. */
  calculation?: Calculation;
  mode: EditMode;
  /** CRS of the geometries: anything PROJ reads. */
  crs: string;
  /** True when coordinates come y,x: the CRS is defined northing or latitude first. */
  swapAxes: boolean;
  /**
   * Decimal places in which clients see the geometries of features. A geometry that comes back as they see it is not
   * written. Absent: each geometry that came is written.
   */
  precision?: number;
  /** Filter of the rows that are visible to the caller. Undefined: all rows. No edit can remove a row from them. */
  filter: Expression | undefined;
  /** Attributes that are visible to the caller. Default: all. */
  visible?: string[];
  /** Attributes that the caller can change. Default: all. Other attributes keep their values. */
  writable?: string[];
  /** Attributes that the caller sees masked. A sent value that equals the masked value is not a change. */
  masked?: MaskedField[];
  /** Whether a geometry can replace one that clients receive in simplified form. */
  acceptsLoss?: boolean;
  origin: EditOrigin;
  /** It becomes true while this is present, or not at all. */
  presence?: PresenceMark;
}

export type EditFailureReason =
  | 'invalid'
  | 'not-found'
  | 'conflict'
  | 'changed'
  | 'forbidden'
  /** Another operation of an atomic edit failed. */
  | 'undone';

export interface EditFailure {
  ok: false;
  reason: EditFailureReason;
  /** May be shown to the client. */
  message: string;
  errors?: FieldError[];
}

export type EditOutcome = { ok: true; id: string } | EditFailure;

/** Commits to a file that are the server's. */
export interface FileWrites {
  /** Changes when the file is replaced, and not when it is written to. */
  content: string;
  /** Number of commits to the file before them and after them. */
  before: number;
  after: number;
  /** See `LogCommits.log`. */
  log?: string;
  /** `sqliteState` of the file once they were done. */
  state?: string;
}

/** Result of emptying the write-ahead log of a file. */
export interface EmptiedLog {
  /** False when readers or writers are in the way. */
  isEmpty: boolean;
  /** Commits in the file at that time. */
  writes?: FileWrites;
}

/** Effect of a committed edit on a collection. */
export interface CollectionChange {
  /** Cursor of the edit's last event: grows with every edit of the store. */
  cursor: number;
  /** Features more (or fewer) than before; absent when that is not known. */
  features?: number;
  /** Box around the new geometries in CRS84; absent when there are none. */
  extent84?: Box;
  /** The edit among all commits to its file; absent in databases. */
  writes?: FileWrites;
  /** Bounding boxes in CRS84 of all changes, before and after. Absent if their position on Earth is unknown. */
  areas?: readonly Box[];
}

export interface EditResult {
  /** In the order of the operations; with `failFast` nothing after the first failure. */
  outcomes: EditOutcome[];
  /** Absent when nothing changed. */
  change?: CollectionChange;
  /** Number of positions of each geometry in the operations. */
  positions?: number[];
}

type FeatureEventOperation = 'insert' | 'update' | 'delete';

/**
 * One row of the outbox: written in the transaction of its edit, read in the order of `cursor`. JSON members are text,
 * so that no digit of a number is lost on the way.
 */
export interface FeatureEvent extends EditOrigin {
  cursor: number;
  eventId: string;
  /** RFC 3339, UTC, milliseconds. */
  time: string;
  /** Name of the table, with its schema where there are schemas. */
  table: string;
  featureId: string;
  operation: FeatureEventOperation;
  /** CRS84; absent without a geometry. */
  envelopeBefore?: Box;
  envelopeAfter?: Box;
  /** GeoJSON geometry in CRS84 after the edit; of a delete, before it. */
  geometry?: string;
  /** JSON object of all attributes after the edit; of a delete, before it. */
  attributes?: string;
  /** Geometry before an update, if it changed. */
  geometryBefore?: string;
  /** JSON object with the previous values of the changed attributes of an update. */
  attributesBefore?: string;
  /** Names of the attributes whose values differ; of an insert and a delete, all. */
  changedAttributes: string[];
  geometryChanged: boolean;
}
