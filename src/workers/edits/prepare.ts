import type {
  EditFailure,
  EditOperation,
  EditTask,
  FeatureInput,
  MaskedField,
} from '../../core/edits/edits.js';
import { type FieldError, formatFieldErrors } from '../../core/errors/field-errors.js';
import { type FieldValue, readProperties } from '../../core/features/feature-values.js';
import type { JsonText } from '../../core/values/json-text.js';
import { readGeometry } from './geometry.js';

/** Operation that is prepared before its transaction starts: everything that does not need the stored row. */
export interface PreparedEdit {
  readonly operation: EditOperation;
  /** WKB in the CRS of the source; `null` for no geometry, absent when none was sent. */
  readonly geometry?: Uint8Array | null;
  /** Error of the sent geometry. It can still equal the geometry that the client saw. */
  readonly wrongGeometry?: FieldError;
  readonly values: ReadonlyMap<string, FieldValue>;
  /**
   * Errors of sent values that do not fit their fields, by field. The values can still equal the values that the
   * client saw.
   */
  readonly wrongValues?: ReadonlyMap<string, FieldError>;
  /** Sent values of masked fields, by field. They can be the masked values that the client saw. */
  readonly maskedValues?: ReadonlyMap<MaskedField, JsonText>;
}

/** Members of a task that apply to the features sent with it. */
export type FeatureRules = Pick<
  EditTask,
  'source' | 'visible' | 'writable' | 'masked' | 'crs' | 'swapAxes' | 'precision'
>;

/** Returns every operation of a task, prepared or refused. */
export function prepare(task: EditTask): (PreparedEdit | EditFailure)[] {
  return task.operations.map((operation) =>
    operation.type === 'delete'
      ? { operation, values: new Map() }
      : prepareFeature(operation, task, operation.type !== 'create'),
  );
}

/** Refuses values that do not fit their fields, unless `mayBeShown`: the stored ones may not fit either. */
export function prepareFeature(
  operation: EditOperation & { feature: FeatureInput },
  task: FeatureRules,
  mayBeShown = false,
): PreparedEdit | EditFailure {
  const { geometry, values = {} } = operation.feature;
  const { visible, writable } = task;
  const read = readProperties(values, { fields: task.source.fields, visible, writable });
  const { wrongValues } = read;
  const areDeferred = mayBeShown && wrongValues.size > 0;
  const errors: FieldError[] = areDeferred ? [] : [...read.errors];
  const shape = geometry === undefined ? { wkb: undefined } : readGeometry(geometry, task);
  const wrongGeometry = 'wkb' in shape ? undefined : shape;
  const maybeShown = operation.type !== 'create' && task.precision !== undefined;
  if (wrongGeometry && (!maybeShown || errors.length > 0)) errors.push(wrongGeometry);
  if (errors.length > 0) return invalid(errors);
  const maskedValues = new Map(
    (task.masked ?? []).flatMap((field) =>
      read.forbidden.includes(field.name) ? [[field, values[field.name]!] as const] : [],
    ),
  );
  if (read.forbidden.length > maskedValues.size) return forbidden(read.forbidden);
  const ready = {
    operation,
    values: read.values,
    ...(areDeferred && { wrongValues }),
    ...(maskedValues.size > 0 && { maskedValues }),
  };
  if (wrongGeometry) return { ...ready, wrongGeometry };
  return { ...ready, geometry: 'wkb' in shape ? shape.wkb : undefined };
}

export function forbidden(names: readonly string[]): EditFailure {
  return failure('forbidden', `You may not change ${names.slice(0, 20).join(', ')}.`);
}

export function failure(reason: EditFailure['reason'], message: string): EditFailure {
  return { ok: false, reason, message };
}

function invalid(errors: FieldError[]): EditFailure {
  return { ok: false, reason: 'invalid', message: formatFieldErrors(errors), errors };
}

export function isFailure(edit: PreparedEdit | EditFailure): edit is EditFailure {
  return 'ok' in edit;
}
