import { hasFeatures } from '../../core/catalog/abilities.js';
import type { VectorCollection } from '../../core/catalog/collection.js';
import type { EditTask } from '../../core/edits/edits.js';
import { ApiError } from '../../core/errors/errors.js';
import { type Crs, coordinatePrecision } from '../../core/geometry/crs.js';
import type { Principal } from '../../core/http/operation.js';
import type { Pools } from '../../core/tasks/tasks.js';
import type { AccessPolicy } from '../access/access.js';
import type { Catalogs, CollectionView } from '../features/view.js';
import { editBounds } from './edit-bounds.js';
import type { Edits } from './edits.js';

export interface EditDeps extends Catalogs {
  readonly pools: Pools;
  readonly access: AccessPolicy;
  readonly edits: Edits;
}

/** Caller of an edit, and its protocol. */
export interface Editor {
  readonly principal: Principal;
  /** Protocol name in feature events: `OGC-Features`. */
  readonly protocol: string;
  readonly requestId: string;
  /** Whether an edit can replace a geometry that clients see in another form than the stored one. */
  readonly acceptsLoss: boolean;
}

/** The members of an edit task that name the CRS of its coordinates. */
type Coordinates = Pick<EditTask, 'crs' | 'swapAxes' | 'precision'>;

/** A collection that its editor may change, and within which bounds. */
export interface EditTarget {
  readonly collection: VectorCollection;
  /** The collection as the editor reads it. */
  readonly visible: VectorCollection;
  /** The members that all edit tasks of the target have in common. */
  readonly task: Omit<EditTask, 'source' | 'operations' | 'mode' | keyof Coordinates>;
}

/** Throws 401 and 403. */
export function editTarget(
  { access }: Pick<EditDeps, 'access'>,
  { principal, protocol, requestId, acceptsLoss }: Editor,
  { collection, visible }: Pick<CollectionView, 'collection' | 'visible'>,
): EditTarget {
  if (principal.kind === 'anonymous')
    throw new ApiError(
      'unauthenticated',
      'Credentials are required to change features. Send an API key or a token.',
    );
  const bounds = editBounds(visible, access(principal, collection, 'write'));
  const { id, layerId } = collection;
  const origin = { collection: id, layerId, protocol, requestId, actor: principal.id };
  return { collection, visible, task: { ...bounds, acceptsLoss, origin } };
}

/** Coordinates in a CRS, as its definition orders them or always x,y. */
export function coordinatesIn(crs: Crs, order: 'as-defined' | 'x-y'): Coordinates {
  const swapAxes = order === 'as-defined' && crs.northFirst;
  return { crs: crs.proj, swapAxes, precision: coordinatePrecision(crs) };
}

/** Whether features of a collection can be changed, at all or by one caller. */
export function isEditable(
  { catalog, access }: Pick<EditDeps, 'catalog' | 'access'>,
  collectionId: string,
  principal?: Principal,
): boolean {
  const collection = catalog().byId(collectionId);
  if (!collection || !hasFeatures(collection) || !collection.source.writable) return false;
  return principal === undefined || access(principal, collection, 'write').allowed;
}
