/** What is asked of a feature store when features change, and what it answers. */

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
  /** The values are attributes of GeoServices: clients know times by milliseconds alone, and JSON as one text. */
  areAttributes?: true;
  /** Objects of JSON replace what is stored. Without it an update patches their members (RFC 7396). */
  replacesJson?: true;
}

/**
 * Why the geometry that clients see is not the stored one: arcs became lines, faces of a surface became polygons, measures
 * (M) are left out, or the geometry or a part of it cannot be read.
 */
export type GeometryLoss = 'arcs' | 'surface' | 'measures' | 'unreadable';

interface EditAddress {
  id: string;
  /** The edit happens only while the stored row has this name (see `ItemResult.row`). */
  row?: string;
}

/** A new feature. An `id` that the client chose is taken where the key is not made by the store alone. */
interface CreateOperation {
  type: 'create';
  id?: string;
  feature: FeatureInput;
}

/** What the feature does not name becomes null, or the column's default. */
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
 * `each`: every operation succeeds or fails alone. `failFast`: those after the first failure are not tried; those
 * before it stay. `atomic`: one failure undoes all.
 */
export type EditMode = 'each' | 'failFast' | 'atomic';

/** Whose edit it is and how it came: for the outbox. */
export interface EditOrigin {
  collection: string;
  layerId: number;
  /** As feature events name it: `OGC-Features`. */
  protocol: string;
  requestId: string;
  /** Id of the principal. */
  actor: string;
}

/** Attributes that get new values in each feature that passes: in all of them, or in none. */
export interface Calculation {
  /** Which of the rows that exist for who asks; all when absent. */
  filter?: Expression;
  /** Values that are the same for all, as in `FeatureInput`. */
  values: Readonly<Record<string, JsonText>>;
  /** What is computed of each feature: operands that `checkOperand` has made fit for the writers of SQL. */
  expressions: Readonly<Record<string, Operand>>;
  /** No more features than this are changed: the calculation is refused. */
  most: number;
}

/** Field of a mask. */
export type MaskedField = Pick<Field, 'name' | 'type' | 'mask'>;

export interface EditTask {
  source: VectorSource;
  operations: EditOperation[];
  /** In the place of operations; the outcomes are those of the features that pass, in the order of their ids. */
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
  /** Rows that exist for who asks; all of them if it is undefined. No edit may take a row out of them. */
  filter: Expression | undefined;
  /** Attributes that exist for who asks; all when absent. */
  visible?: string[];
  /** Attributes that may be changed; all when absent. The others keep their values. */
  writable?: string[];
  /** Attributes that the caller sees masked. A sent value that equals the masked value is not a change. */
  masked?: MaskedField[];
  /** True when a geometry may take the place of one that clients do not see as it is stored. */
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

/** What became of the write-ahead log of a file. */
export interface EmptiedLog {
  /** False when readers or writers are in the way. */
  isEmpty: boolean;
  /** The commits that the file had by then. */
  writes?: FileWrites;
}

/** What a committed edit did to a collection. */
export interface CollectionChange {
  /** Cursor of the edit's last event: grows with every edit of the store. */
  cursor: number;
  /** Features more (or fewer) than before; absent when that is not known. */
  features?: number;
  /** Box around the new geometries in CRS84; absent when there are none. */
  extent84?: Box;
  /** The edit among all commits to its file; absent in databases. */
  writes?: FileWrites;
  /** Boxes in CRS84 around all that changed, as it was and as it is; absent when it is not known where that lies. */
  areas?: readonly Box[];
}

export interface EditResult {
  /** In the order of the operations; with `failFast` nothing after the first failure. */
  outcomes: EditOutcome[];
  /** Absent when nothing changed. */
  change?: CollectionChange;
  /** How many positions each geometry has that came with the operations. */
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
  /** Of an update: the geometry before it, where that differs. */
  geometryBefore?: string;
  /** Of an update: JSON object of what the changed attributes were. */
  attributesBefore?: string;
  /** Names of the attributes whose values differ; of an insert and a delete, all. */
  changedAttributes: string[];
  geometryChanged: boolean;
}
