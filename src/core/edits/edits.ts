/** Edit requests to a feature store, and their results. */

import type { Expression, Operand } from '../cql2/ast.js';
import type { FieldError } from '../errors/field-errors.js';
import type { Box } from '../geometry/box.js';
import type { Field, VectorSource } from '../sources/vector-source.js';
import type { JsonText } from '../values/json-text.js';
import type { PresenceMark } from '../values/presence.js';
import type { FileWrites } from './file-writes.js';

/** A feature as a client sent it. Members that the client omitted are absent. */
export interface FeatureInput {
  /** A GeoJSON geometry as JSON text, or `null`. */
  geometry?: string;
  /** Attributes by name, each as the received JSON text, so that numbers keep all digits until their field is known. */
  values?: Readonly<Record<string, JsonText>>;
  /** Set if the values are GeoServices attributes, with times in milliseconds and JSON as one string. */
  areEsriAttributes?: true;
  /** JSON values replace the stored values. Default: an update merges objects (RFC 7396). */
  replacesJson?: true;
}

/**
 * Reason for the difference between a received geometry and the stored one: curves became lines, faces of a surface
 * became polygons, measures (M) are omitted, or the geometry or a part of it is unreadable.
 */
export type GeometryLoss = 'arcs' | 'surface' | 'measures' | 'unreadable';

interface EditAddress {
  id: string;
  /**
   * Version of the stored row that the client read (`ItemResult.row`). The edit fails with `changed` if the row has
   * another version.
   */
  rowVersion?: string;
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

/** JSON merge patch (RFC 7396): members that the feature omits are unchanged. */
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

/** User and protocol of an edit, for the outbox. */
export interface EditOrigin {
  collection: string;
  layerId: number;
  /** Protocol in feature events, such as `OGC-Features`. */
  protocol: string;
  requestId: string;
  /** Id of the principal. */
  actor: string;
}

/** Sets attributes of all features that match a filter. Changes all of these features or none. */
export interface Calculation {
  /** Filter of the rows that are visible to the caller. Default: all rows. */
  filter?: Expression;
  /** Constant values, as in `FeatureInput`. */
  values: Readonly<Record<string, JsonText>>;
  /** Computed values by field: operands checked by `checkOperand` for SQL writers. */
  expressions: Readonly<Record<string, Operand>>;
  /** The calculation is refused if more features match. */
  maxFeatures: number;
}

/** A field with its mask. */
export type MaskedField = Pick<Field, 'name' | 'type' | 'mask'>;

export interface EditTask {
  source: VectorSource;
  operations: EditOperation[];
  /** Calculation in place of operations. Its outcomes are those of the matching features, by id. */
  calculation?: Calculation;
  mode: EditMode;
  /** CRS of the geometries: anything PROJ reads. */
  crs: string;
  /** True if coordinates are in the order y,x, because the CRS has northing or latitude first. */
  swapAxes: boolean;
  /**
   * Decimal places of geometries in responses. An incoming geometry that equals the stored one at this precision is not
   * written. Default: every incoming geometry is written.
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
  /** Whether a geometry can replace a stored geometry with a `GeometryLoss`. */
  acceptsLoss?: boolean;
  origin: EditOrigin;
  /** Session of the editor. The edit is committed only if the session still exists. */
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

/** Effect of a committed edit on a collection. */
export interface CollectionChange {
  /** Cursor of the edit's last event: grows with every edit of the store. */
  cursor: number;
  /** Change of the number of features. Absent if unknown. */
  features?: number;
  /** Box around the new geometries in CRS84. Absent if there are none. */
  extent84?: Box;
  /** Commits of the edit to its file. Absent for databases. */
  writes?: FileWrites;
  /** Bounding boxes in CRS84 of all changes, before and after. Absent if their position on Earth is unknown. */
  areas?: readonly Box[];
}

export interface EditResult {
  /** Outcomes in the order of the operations. With `failFast`, the first failure is the last outcome. */
  outcomes: EditOutcome[];
  /** Absent if nothing changed. */
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
