import { maskedJson } from '../../core/access/field-masks.js';
import type { SentFeature } from '../../core/geoservices/geoservices-features.js';
import { isSameDouble } from '../../core/values/exact-number.js';
import { stringifyExactly } from '../../core/values/json.js';
import { sameJson } from '../../core/values/json-text.js';
import { type ObjectId, readObjectId } from '../../core/values/object-id.js';
import type {
  ClientEdit,
  ConflictBody,
  ConflictType,
  FeatureState,
  FieldChange,
  NewConflict,
} from '../../stores/replicas/replica-conflicts.js';
import type { EditBounds } from '../edits/edit-bounds.js';
import { toFeatureInput } from '../edits/layer-edits.js';
import type { ReplicaLayerView } from './layer-view.js';
import type { NetChange } from './net-changes.js';
import type { StoredRow } from './rows.js';
import { clientState, fieldChanges, meansTheSame, parseImageState, sameGeometry } from './states.js';

/** Facts shared by all conflicts of an upload in one layer. */
export interface UploadFacts {
  readonly view: ReplicaLayerView;
  readonly bounds: EditBounds;
  /** CRS of the client's geometries, as text that PROJ accepts. */
  readonly crs: string;
  readonly generation: number;
  readonly userId: string;
  readonly syncId: string;
}

/**
 * The feature without values of masked fields, if these are the masked values that the client received. Otherwise the
 * names of the changed masked fields.
 */
export function withoutMasked(
  { bounds: { masked = [] } }: UploadFacts,
  sent: SentFeature,
  known: FeatureState | null,
): SentFeature | { changed: string[] } {
  const fields = masked.filter(({ name }) => Object.hasOwn(sent.values, name));
  const changed = fields.filter((field) => {
    const stored = stringifyExactly(known?.attributes[field.name] ?? null);
    return !sameJson(sent.values[field.name]!, maskedJson(stored, field));
  });
  if (changed.length > 0) return { changed: changed.map(({ name }) => name) };
  const names = new Set(fields.map(({ name }) => name));
  const values = Object.fromEntries(Object.entries(sent.values).filter(([name]) => !names.has(name)));
  return { ...sent, values };
}

/** Conflict of an update with other changes of the feature. Undefined if both have the same result. */
export function updateConflict(
  facts: UploadFacts,
  uploaded: SentFeature,
  change: NetChange,
): NewConflict | undefined {
  const base = parseImageState(change.before);
  const sent = withStoredDigits(facts, uploaded, base);
  const client = clientState(base, sent, facts.crs);
  const server = parseImageState(change.after);
  const { fields } = facts.view.collection.source;
  if (server && meansTheSame(fields, sent, client, server)) return undefined;
  const changes = fieldChanges(fields, new Set(Object.keys(sent.values)), { base, client, server });
  const moved = !sameGeometry(base?.geometry ?? null, client.geometry);
  return conflict(facts, readObjectId(change.id)!, {
    type: server ? chooseType(changes, moved || change.geometryChanged) : 'updateDelete',
    base,
    client,
    server,
    fieldChanges: changes,
    geometryChanged: moved || (server !== null && change.geometryChanged),
    edit: { type: 'update', feature: toFeatureInput(sent) },
  });
}

/** The feature with the stored digits of numbers. Clients return the rounded doubles that they received. */
function withStoredDigits({ view }: UploadFacts, sent: SentFeature, base: FeatureState | null): SentFeature {
  const values = { ...sent.values };
  for (const { name, type } of view.collection.source.fields) {
    if (type !== 'number' || values[name] === undefined) continue;
    const stored = stringifyExactly(base?.attributes[name] ?? null);
    if (isSameDouble(values[name], stored)) values[name] = stored;
  }
  return { ...sent, values };
}

/**
 * Type of a conflict: of attributes if both sides changed some, or if no side changed the geometry; otherwise of
 * geometries.
 */
function chooseType(changes: readonly FieldChange[], geometryChanged: boolean): ConflictType {
  const both =
    changes.some(({ changedOnClient }) => changedOnClient) &&
    changes.some(({ changedOnServer }) => changedOnServer);
  return both || !geometryChanged ? 'attribute' : 'geometry';
}

/**
 * Conflict of a deletion with other changes of the feature. If the feature was also deleted on the server, no
 * decision is necessary.
 */
export function deletionConflict(facts: UploadFacts, change: NetChange): NewConflict {
  const [base, server] = [parseImageState(change.before), parseImageState(change.after)];
  return conflict(facts, readObjectId(change.id)!, {
    type: server ? 'deleteUpdate' : 'deleteDelete',
    base,
    server,
    client: null,
    fieldChanges: server
      ? fieldChanges(facts.view.collection.source.fields, new Set(), { base, client: null, server })
      : [],
    geometryChanged: server !== null && change.geometryChanged,
    ...(server ? {} : { settled: true }),
    edit: { type: 'delete' },
  });
}

/** A new feature under an id that another one has; undefined where it is that very feature. */
export function insertConflict(
  facts: UploadFacts,
  sent: SentFeature,
  row: StoredRow,
): NewConflict | undefined {
  const client = clientState(null, sent, facts.crs);
  const { fields } = facts.view.collection.source;
  const server: FeatureState = row.state;
  if (meansTheSame(fields, sent, client, server)) return undefined;
  return conflict(facts, sent.id!, {
    type: 'duplicateInsert',
    base: null,
    client,
    server,
    fieldChanges: fieldChanges(fields, new Set(Object.keys(sent.values)), { base: null, client, server }),
    geometryChanged: !sameGeometry(client.geometry, server.geometry),
    edit: { type: 'create', feature: toFeatureInput(sent) },
  });
}

type Particulars = Pick<
  ConflictBody,
  'type' | 'base' | 'client' | 'server' | 'fieldChanges' | 'geometryChanged' | 'settled'
> & { edit: Pick<ClientEdit, 'type' | 'feature'> };

function conflict(
  { view, bounds: { filter, visible, writable }, crs, generation, userId, syncId }: UploadFacts,
  objectId: ObjectId,
  { edit, ...particulars }: Particulars,
): NewConflict {
  return {
    layerId: view.layerId,
    objectId,
    body: {
      ...particulars,
      collection: view.collection.id,
      featureId: String(objectId),
      generation,
      userId,
      syncId,
      edit: { ...edit, crs, filter, visible, writable },
    },
  };
}
