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

/** Carries out one operation. Throws `EditRefusal` for what the store does not take. */
export async function apply(session: EditSession, task: EditTask, edit: PreparedEdit): Promise<NewEvent> {
  const { operation } = edit;
  if (operation.type === 'create') return create(session, operation.id, edit);
  const { id } = operation;
  const before = await session.read(id, shownForm(task, operation));
  if (!before) throw new EditRefusal('not-found', `There is no feature '${id.slice(0, 100)}'.`);
  if (operation.row !== undefined && operation.row !== before.row)
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

/** Writes a change; returns the feature as it is then. Throws `EditRefusal` if the store kept the row as it was. */
export async function updateRow(
  session: EditSession,
  { id, row }: StoredFeature,
  change: RowChange,
): Promise<StoredFeature> {
  const isUpdated = await session.update(id, change);
  const after = await session.read(id);
  if (!after) throw movedOut();
  // Some triggers keep a row only where an update would change nothing.
  if (!isUpdated && after.row === row && !(await session.holds(id, change))) throw rowNotUpdated(id);
  return after;
}

/** How clients see the geometry of a stored feature. Undefined when none was sent that could be compared with it. */
function shownForm(
  { crs, swapAxes, precision }: EditTask,
  operation: EditOperation,
): GeometryForm | undefined {
  const isSent = 'feature' in operation && typeof operation.feature.geometry === 'string';
  return isSent && precision !== undefined ? { crs, swapAxes, precision } : undefined;
}

/**
 * The geometry that an edit writes; undefined leaves the stored one, which says more than clients are shown: digits,
 * parts on both sides of 180 degrees, the type of an empty geometry. Throws `EditRefusal`.
 */
function writtenGeometry(
  { acceptsLoss = false }: EditTask,
  { operation, geometry, wrongGeometry }: PreparedEdit,
  before: StoredFeature,
): Uint8Array | null | undefined {
  const { geometry: sent, areAttributes = false } = 'feature' in operation ? operation.feature : {};
  const { shown, loss } = before;
  // Whoever accepts a loss wants what was sent; a geometry with a loss is refused otherwise.
  const canStay = sent !== undefined && shown !== undefined && !acceptsLoss && loss === undefined;
  if (canStay && isSameGeometry(sent, shown, areAttributes)) return undefined;
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

/** Refuses a geometry in the place of one that clients do not see as it is stored. `undefined` keeps what is stored. */
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
 * A replaced feature keeps nothing that its author may change, but values that came back as they were read: JSON says of
 * `infinity` that it is null, and has one form for several decimals.
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

/** Refuses values that do not fit their fields, but those that came back as they were shown: they stay as they are stored. */
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

/** Refuses values of masked fields, but those that the client is shown of the feature: they come back with it. */
function requireMasksKept({ maskedValues = new Map() }: PreparedEdit, { properties }: StoredFeature): void {
  const stored = membersIn(properties)!;
  const changed = [...maskedValues].filter(
    ([field, sent]) => !sameJson(sent, maskedJson(stored.get(field.name) ?? 'null', field)),
  );
  if (changed.length === 0) return;
  const { reason, message } = forbidden(changed.map(([{ name }]) => name));
  throw new EditRefusal(reason, message);
}

/** The values but those that came back as they were shown: the stored ones may say more. */
function dropShownValues(
  source: EditTask['source'],
  feature: FeatureInput,
  values: PreparedEdit['values'],
  before: StoredFeature,
): PreparedEdit['values'] {
  const isShown = shownValues(source, feature, before);
  return new Map([...values].filter(([name]) => !isShown(name)));
}

/** Tells of a field whether the value that a client sent is the stored one as clients are shown it. */
function shownValues(
  { fields }: EditTask['source'],
  { values: sent = {}, areAttributes }: FeatureInput,
  before: StoredFeature,
): (name: string) => boolean {
  const stored = membersIn(before.properties)!;
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  return (name) => {
    const [now, was, type] = [sent[name], stored.get(name), types.get(name)];
    if (now === undefined || was === undefined) return false;
    if (sameJson(now, was)) return true;
    if (!areAttributes) return false;
    return type === 'number' ? isSameDouble(now, was) : isShownTime(now, was, type);
  };
}

/** JSON members are patched in depth unless the edit replaces them, all others set. Attributes of GeoServices are set each as one value. */
function patch(
  { source }: EditTask,
  { operation, geometry, values }: PreparedEdit,
  before: StoredFeature,
): RowChange {
  if ('feature' in operation && operation.feature.areAttributes)
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
