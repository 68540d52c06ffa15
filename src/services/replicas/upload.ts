import type { EditOperation, EditOutcome } from '../../core/edits/edits.js';
import { formatFieldError } from '../../core/errors/field-errors.js';
import type { SentFeature } from '../../core/geoservices/geoservices-features.js';
import type { Pools } from '../../core/tasks/tasks.js';
import { type ObjectId, readObjectId } from '../../core/values/object-id.js';
import type { NewConflict } from '../../stores/replicas/replica-conflicts.js';
import type { EditBounds } from '../edits/edit-bounds.js';
import type { Edits } from '../edits/edits.js';
import { type LayerEdits, toFeatureInput } from '../edits/layer-edits.js';
import type { TaskContext } from '../kit/run-task.js';
import type { Feed } from '../streams/feed.js';
import {
  deletionConflict,
  insertConflict,
  type UploadFacts,
  updateConflict,
  withoutMasked,
} from './conflicts.js';
import { checkVisibleImages } from './delta.js';
import { replicaPrecision } from './features.js';
import type { FeedEnd } from './feed-end.js';
import type { ReplicaLayerView } from './layer-view.js';
import { type NetChange, netChanges } from './net-changes.js';
import { readRow, readRows, type StoredRow } from './rows.js';
import { parseImageState } from './states.js';

export interface EditResultDocument {
  objectId: ObjectId | null;
  success: boolean;
  error?: { code: number; description: string };
}

export interface LayerEditResults {
  readonly addResults: EditResultDocument[];
  readonly updateResults: EditResultDocument[];
  readonly deleteResults: EditResultDocument[];
  /** With the results that will name them once they are recorded. */
  readonly conflicts: { conflict: NewConflict; result: EditResultDocument }[];
}

export interface UploadDeps {
  readonly pools: Pools;
  readonly edits: Edits;
  readonly feed: Feed;
  readonly feedEnd: FeedEnd;
}

export interface ReplicaUpload {
  readonly view: ReplicaLayerView;
  readonly bounds: EditBounds;
  readonly crs: string;
  /** Generation that the client knows the layer of. */
  readonly generation: number;
  readonly userId: string;
  readonly syncId: string;
  /** Uploads of the replica. */
  readonly own: ReadonlySet<string>;
  /** One failure undoes all edits of the layer. */
  readonly atomic: boolean;
}

/** Maximum attempts if rows change while they are checked. */
const ATTEMPTS = 4;

/** Codes that GeoServices give to edits that fail. */
const CODES: Readonly<Record<string, number>> = {
  invalid: 1000,
  'not-found': 1019,
  conflict: 1003,
  changed: 1003,
  forbidden: 1009,
  undone: 1003,
};

/** One edit of the client on its way, and the place of its result. */
interface Entry {
  readonly kind: 'add' | 'update' | 'delete';
  readonly id: ObjectId | undefined;
  readonly sent: SentFeature | undefined;
  readonly result: EditResultDocument;
}

/**
 * Applies the edits of a layer that do not collide with edits of other clients. Colliding edits become conflicts.
 * Each edit names the state of its row at the end of the feed, so no other edit is overwritten unseen.
 */
export async function uploadLayer(
  x: TaskContext,
  deps: UploadDeps,
  upload: ReplicaUpload,
  edits: LayerEdits,
): Promise<LayerEditResults> {
  const entries = listEntries(edits);
  const conflicts: LayerEditResults['conflicts'] = [];
  let open = entries;
  for (let attempt = 1; open.length > 0; attempt++) {
    const look = await lookAt(x, deps, upload, open);
    const plan = open.filter((entry) => isFree(entry, look, conflicts));
    open = plan.length > 0 ? await apply(x, deps, upload, { plan, look, conflicts }) : [];
    if (attempt === ATTEMPTS) {
      for (const { result } of open) fail(result, 'changed', 'The feature changes too often.');
      break;
    }
  }
  const of = (kind: Entry['kind']) =>
    entries.filter((entry) => entry.kind === kind).map(({ result }) => result);
  return { addResults: of('add'), updateResults: of('update'), deleteResults: of('delete'), conflicts };
}

function listEntries({ adds, updates, deletes }: LayerEdits): Entry[] {
  const entry = (kind: Entry['kind'], id: ObjectId | undefined, sent?: SentFeature): Entry => ({
    kind,
    id,
    sent,
    result: { objectId: id ?? null, success: false },
  });
  return [
    ...adds.map((sent) => entry('add', sent.id, sent)),
    ...updates.map((sent) => entry('update', sent.id, sent)),
    ...deletes.map((id) => entry('delete', id)),
  ];
}

/** Facts about the rows of an attempt. */
interface Look {
  readonly rows: ReadonlyMap<string, StoredRow | null>;
  readonly changes: ReadonlyMap<string, NetChange>;
  /** Ids of changed features that the client had in its replica. */
  readonly had: ReadonlySet<string>;
  readonly facts: UploadFacts;
}

async function lookAt(
  x: TaskContext,
  { pools, feed, feedEnd }: UploadDeps,
  upload: ReplicaUpload,
  entries: readonly Entry[],
): Promise<Look> {
  const { view, bounds, generation, own, crs, userId, syncId } = upload;
  const ids = [...new Set(entries.flatMap(({ kind, id }) => (kind === 'add' ? [] : [String(id)])))];
  // Rows first: what changes later is found by its name.
  const rows = await readRows(x, pools, view.collection, { ids, filter: bounds.filter });
  const to = await feedEnd.reach(x, [view.collection]);
  const all = await netChanges(feed, {
    from: new Map([[view.layerId, generation]]),
    to,
    own,
    collections: [view.collection.id],
  });
  const changes = all.get(view.layerId)!;
  const touched = ids.flatMap((id) => changes.get(id) ?? []);
  const passed = await checkVisibleImages(
    x,
    pools,
    view,
    touched.map(({ before }) => before),
  );
  const had = new Set(touched.flatMap(({ id }, i) => (passed[i] ? [id] : [])));
  return { rows, changes, had, facts: { view, bounds, crs, generation: to, userId, syncId } };
}

/**
 * Whether an edit can be tried. If another client changed the feature earlier, the result reports it, and a conflict
 * can be recorded.
 */
function isFree(
  { kind, id, sent, result }: Entry,
  { rows, changes, had, facts }: Look,
  conflicts: LayerEditResults['conflicts'],
): boolean {
  if (kind === 'add') return true;
  const key = String(id);
  const row = rows.get(key) ?? null;
  const change = changes.get(key);
  if (!change && row) return true;
  if (!change || !had.has(key)) {
    fail(result, 'not-found', `There is no feature ${key}.`);
    return false;
  }
  if (kind === 'update') {
    const plain = withoutMasked(facts, sent!, parseImageState(change.before));
    if ('changed' in plain) {
      failMasked(result, plain.changed);
      return false;
    }
    sent = plain;
  }
  const conflict = kind === 'delete' ? deletionConflict(facts, change) : updateConflict(facts, sent!, change);
  if (conflict) conflicts.push({ conflict, result });
  if (!conflict || conflict.body.settled) result.success = true;
  else fail(result, 'conflict', 'Another user has changed the feature. The edit is stored as a conflict.');
  return false;
}

function fail(result: EditResultDocument, reason: string, description: string): void {
  result.error = { code: CODES[reason] ?? 1000, description };
}

const failMasked = (result: EditResultDocument, names: readonly string[]) =>
  fail(result, 'forbidden', `You may not change ${names.slice(0, 20).join(', ')}.`);

interface Attempt {
  readonly plan: readonly Entry[];
  readonly look: Look;
  readonly conflicts: LayerEditResults['conflicts'];
}

/** Applies edits. Returns the edits that must be checked again. */
async function apply(
  x: TaskContext,
  deps: UploadDeps,
  upload: ReplicaUpload,
  { plan, look, conflicts }: Attempt,
): Promise<Entry[]> {
  const { view, bounds, crs, userId, syncId, atomic } = upload;
  const { collection } = view;
  const { outcomes } = await deps.edits.run(x, collection, {
    ...bounds,
    crs,
    swapAxes: false,
    precision: replicaPrecision(crs),
    mode: atomic ? 'atomic' : 'each',
    operations: plan.map((entry) => buildOperation(entry, look)),
    origin: {
      collection: collection.id,
      layerId: view.layerId,
      actor: userId,
      protocol: 'FeatureServer',
      requestId: syncId,
    },
  });
  const isMoved = outcomes.some((outcome) => !outcome.ok && outcome.reason === 'changed');
  if (atomic && isMoved) return [...plan];
  const again: Entry[] = [];
  for (const [i, entry] of plan.entries()) {
    const outcome = outcomes[i]!;
    if (!outcome.ok && outcome.reason === 'changed') again.push(entry);
    else if (isTaken(entry, outcome)) await duplicate(x, deps, upload, { entry, look, conflicts });
    else noteOutcome(entry.result, outcome);
  }
  return again;
}

function buildOperation({ kind, id, sent }: Entry, { rows }: Look): EditOperation {
  if (kind === 'add')
    return {
      type: 'create',
      feature: toFeatureInput(sent!),
      ...(id === undefined ? {} : { id: String(id) }),
    };
  const { name: rowVersion } = rows.get(String(id))!;
  if (kind === 'delete') return { type: 'delete', id: String(id), rowVersion };
  return { type: 'update', id: String(id), rowVersion, feature: toFeatureInput(sent!) };
}

const isTaken = ({ kind, id }: Entry, outcome: EditOutcome) =>
  kind === 'add' && id !== undefined && !outcome.ok && outcome.reason === 'conflict';

/** A new feature whose id another one has. */
async function duplicate(
  x: TaskContext,
  { pools }: UploadDeps,
  { view, bounds }: ReplicaUpload,
  { entry, look, conflicts }: { entry: Entry } & Pick<Attempt, 'look' | 'conflicts'>,
): Promise<void> {
  const { id, sent, result } = entry;
  const row = await readRow(x, pools, view.collection, { id: String(id), filter: bounds.filter });
  const plain = row && withoutMasked(look.facts, sent!, row.state);
  if (plain && 'changed' in plain) return failMasked(result, plain.changed);
  const conflict = row && plain && insertConflict(look.facts, plain, row);
  if (conflict) conflicts.push({ conflict, result });
  if (row && !conflict) result.success = true;
  else
    fail(
      result,
      'conflict',
      conflict ? `The id ${id} is in use. The edit is stored as a conflict.` : `The id ${id} is in use.`,
    );
}

/** Writes the outcome of an edit into the client's result. */
export function noteOutcome(result: EditResultDocument, outcome: EditOutcome): void {
  if (outcome.ok) {
    result.success = true;
    result.objectId = readObjectId(outcome.id) ?? null;
  } else {
    const errors = (outcome.errors ?? []).map(formatFieldError);
    const others = errors.filter((text) => !outcome.message.includes(text));
    fail(result, outcome.reason, [outcome.message, ...others].join(' '));
  }
}
