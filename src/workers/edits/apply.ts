import { maskedJson } from '../../core/access/field-masks.js';
import type { EditOperation, EditTask, FeatureInput, GeometryLoss } from '../../core/edits/edits.js';
import { isSameDouble } from '../../core/values/exact-number.js';
import { membersIn, mergePatchText, sameJson } from '../../core/values/json-text.js';
import { deletion, insertion, update } from './events.js';
import { forbidden, type PreparedEdit } from './prepare.js';
import { isSameGeometry } from './same-geometry.js';
import {
  EditRefusal,
  type EditSession,
  type GeometryForm,
  type NewEvent,
  type RowChange,
  rowNotUpdated,
  type StoredFeature,
} from './session.js';
import { isShownTime } from './shown-times.js';

/** Executes one operation. Throws `EditRefusal` for changes that the store does not accept. */
export async function apply(session: EditSession, task: EditTask, edit: PreparedEdit): Promise<NewEvent> {
  const { operation } = edit;
  if (operation.type === 'create') return create(session, operation.id, edit);
  const { id } = operation;
  const before = await session.read(id, shownForm(task, operation));
  if (!before) throw new EditRefusal('not-found', `There is no feature '${id.slice(0, 100)}'.`);
  if (operation.rowVersion !== undefined && operation.rowVersion !== before.row)
    throw new EditRefusal('changed', 'The feature has changed since it was read. Read it again and retry.');
  if (operation.type === 'delete') {
    await session.delete(id);
    return deletion(before);
  }
  requireMasksKept(edit, before);
  requireShownValues(task, edit, before);
  const ready = { ...edit, geometry: writtenGeometry(task, edit, before) };
  if (!task.acceptsLoss) requireNoLoss(before, ready.geometry);
  const change = operation.type === 'replace' ? replacement(task, ready, before) : patch(task, ready, before);
  return update(before, await updateRow(session, before, change));
}

/** Writes a change; returns the changed feature. Throws `EditRefusal` if the store left the row unchanged. */
export async function updateRow(
  session: EditSession,
  { id, row }: StoredFeature,
  change: RowChange,
): Promise<StoredFeature> {
  const isUpdated = await session.update(id, change);
  const after = await session.read(id);
  if (!after) throw movedOut();
  // Some triggers keep a row only if an update would not change it.
  if (!isUpdated && after.row === row && !(await session.holds(id, change))) throw rowNotUpdated(id);
  return after;
}

/**
 * Form in which clients see the geometry of a stored feature. Undefined if the client sent no geometry to compare
 * with it.
 */
function shownForm(
  { crs, swapAxes, precision }: EditTask,
  operation: EditOperation,
): GeometryForm | undefined {
  const isSent = 'feature' in operation && typeof operation.feature.geometry === 'string';
  return isSent && precision !== undefined ? { crs, swapAxes, precision } : undefined;
}

/**
 * Returns the geometry that an edit writes. Undefined keeps the stored geometry, which contains more than clients
 * see: digits, parts on both sides of 180 degrees, the type of an empty geometry. Throws `EditRefusal`.
 */
function writtenGeometry(
  { acceptsLoss = false }: EditTask,
  { operation, geometry, wrongGeometry }: PreparedEdit,
  before: StoredFeature,
): Uint8Array | null | undefined {
  const { geometry: sent, areEsriAttributes = false } = 'feature' in operation ? operation.feature : {};
  const { shown, loss } = before;
  // A caller who accepts a loss gets the sent geometry; otherwise a geometry with a loss is refused.
  const canStay = sent !== undefined && shown !== undefined && !acceptsLoss && loss === undefined;
  if (canStay && isSameGeometry(sent, shown, areEsriAttributes)) return undefined;
  if (wrongGeometry) throw EditRefusal.member(wrongGeometry.name, wrongGeometry.detail);
  return operation.type === 'replace' ? (geometry ?? null) : geometry;
}

async function create(
  session: EditSession,
  requestedId: string | undefined,
  edit: PreparedEdit,
): Promise<NewEvent> {
  if (requestedId !== undefined && (await session.exists(requestedId)))
    throw new EditRefusal(
      'conflict',
      `The feature '${requestedId.slice(0, 100)}' already exists. Choose another id, or change it with PUT.`,
    );
  const { geometry = null, values } = edit;
  const id = await session.insert(requestedId, { geometry, values, reset: [] });
  const after = await session.read(id);
  if (!after) throw movedOut();
  requireMasksKept(edit, after);
  return insertion(after);
}

const LOSSES: Readonly<Record<GeometryLoss, string>> = {
  arcs: 'has circular arcs, which edits cannot write',
  surface: 'is a polyhedral surface, a TIN or a triangle, which edits cannot write',
  measures: 'has measures (M), which edits cannot write',
  unreadable: 'cannot be read by the server, or only in part',
};

/** Refuses to replace a geometry that clients do not see as stored. `undefined` keeps the stored geometry. */
export function requireNoLoss({ id, loss }: StoredFeature, geometry: Uint8Array | null | undefined): void {
  if (loss === undefined || geometry === undefined) return;
  throw new EditRefusal(
    'conflict',
    `geometry: the stored geometry of feature '${id.slice(0, 100)}' ${LOSSES[loss]}. This edit would replace it. Send only properties to keep it, or the header Geometry-Loss: accept to replace it.`,
  );
}

export function movedOut(): EditRefusal {
  return new EditRefusal('forbidden', 'The feature would be outside the area or rows that you may change.');
}

/**
 * Returns the values of a replaced feature. It keeps no value that its author can change, except values that were
 * returned as read: JSON shows `infinity` as null, and has one form for several decimals.
 */
function replacement(
  { source, visible, writable }: EditTask,
  { operation, geometry, values, wrongValues }: PreparedEdit,
  before: StoredFeature,
): RowChange {
  const reset = source.fields.filter(
    ({ name, generated }) =>
      !generated &&
      !values.has(name) &&
      !wrongValues?.has(name) &&
      (visible?.includes(name) ?? true) &&
      (writable?.includes(name) ?? true),
  );
  const changed =
    'feature' in operation ? dropShownValues(source, operation.feature, values, before) : values;
  return { geometry, values: changed, reset: reset.map((field) => field.name) };
}

/** Refuses values that do not fit their fields, except values that were returned as shown. Those remain as stored. */
function requireShownValues(
  { source }: EditTask,
  { operation, wrongValues }: PreparedEdit,
  before: StoredFeature,
): void {
  if (!wrongValues || !('feature' in operation)) return;
  const isShown = shownValues(source, operation.feature, before);
  const errors = [...wrongValues].flatMap(([name, error]) => (isShown(name) ? [] : [error]));
  if (errors.length > 0) throw EditRefusal.members(errors);
}

/**
 * Refuses values of masked fields, except the masked values that the client sees, which are returned with the
 * feature.
 */
function requireMasksKept({ maskedValues = new Map() }: PreparedEdit, { properties }: StoredFeature): void {
  const stored = membersIn(properties)!;
  const changed = [...maskedValues].filter(
    ([field, sent]) => !sameJson(sent, maskedJson(stored.get(field.name) ?? 'null', field)),
  );
  if (changed.length === 0) return;
  const { reason, message } = forbidden(changed.map(([{ name }]) => name));
  throw new EditRefusal(reason, message);
}

/** Returns the values except those returned as shown, because the stored values can contain more. */
function dropShownValues(
  source: EditTask['source'],
  feature: FeatureInput,
  values: PreparedEdit['values'],
  before: StoredFeature,
): PreparedEdit['values'] {
  const isShown = shownValues(source, feature, before);
  return new Map([...values].filter(([name]) => !isShown(name)));
}

/** Returns a function that compares a value from a client with the stored value as clients receive it. */
function shownValues(
  { fields }: EditTask['source'],
  { values: sent = {}, areEsriAttributes }: FeatureInput,
  before: StoredFeature,
): (name: string) => boolean {
  const stored = membersIn(before.properties)!;
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  return (name) => {
    const [now, was, type] = [sent[name], stored.get(name), types.get(name)];
    if (now === undefined || was === undefined) return false;
    if (sameJson(now, was)) return true;
    if (!areEsriAttributes) return false;
    return type === 'number' ? isSameDouble(now, was) : isShownTime(now, was, type);
  };
}

/**
 * Returns the patched values. JSON members are patched at any depth unless the edit replaces them; all other members
 * are set. Each GeoServices attribute is set as one value.
 */
function patch(
  { source }: EditTask,
  { operation, geometry, values }: PreparedEdit,
  before: StoredFeature,
): RowChange {
  if ('feature' in operation && operation.feature.areEsriAttributes)
    return { geometry, values: dropShownValues(source, operation.feature, values, before), reset: [] };
  const replaces = 'feature' in operation && operation.feature.replacesJson;
  const deep = source.fields.filter(
    ({ name, type }) =>
      !replaces && type === 'json' && (values.get(name) as string | null | undefined)?.[0] === '{',
  );
  if (deep.length === 0) return { geometry, values, reset: [] };
  const stored = membersIn(before.properties)!;
  const merged = new Map(values);
  for (const { name } of deep) merged.set(name, mergePatchText(stored.get(name), values.get(name) as string));
  return { geometry, values: merged, reset: [] };
}
