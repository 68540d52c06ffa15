import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { EditTask } from '../../../core/edits/edits.js';
import { badParameter } from '../../../core/errors/errors.js';
import { type Crs, coordinatePrecision, defaultCrs } from '../../../core/geometry/crs.js';
import type { Exchange, Principal } from '../../../core/http/operation.js';
import { editBounds } from '../../../services/edits/edit-bounds.js';
import type { Edits } from '../../../services/edits/edits.js';
import type { SurfaceDeps } from '../../surface/common.js';
import { acceptsLoss } from '../../surface/geometry-loss.js';
import { type View, viewOf } from '../view.js';

export type EditDeps = Pick<SurfaceDeps, 'catalog' | 'visible' | 'pools' | 'access'> & { edits: Edits };

/** A collection that this principal may change, and within which bounds. */
export interface EditTarget {
  readonly collection: VectorCollection;
  /** The collection as this principal reads it. */
  readonly view: View;
  /** CRS of the coordinates that come and go. */
  readonly crs: Crs;
  /** What every edit task of this request carries. */
  readonly task: Omit<EditTask, 'source' | 'operations' | 'mode'>;
}

/** The collection of a request, its bounds for who asks, and the CRS of the body. Throws 400, 403, 404. */
export function editTarget(x: Exchange, deps: EditDeps, id: string, contentCrs: Crs | undefined): EditTarget {
  const view = viewOf(deps, x.principal, id);
  const { collection, visible } = view;
  const bounds = editBounds(visible, deps.access(x.principal, collection, 'write'));
  const crs = inputCrs(collection, contentCrs);
  return {
    collection,
    view,
    crs,
    task: {
      crs: crs.proj,
      swapAxes: crs.northFirst,
      precision: coordinatePrecision(crs),
      acceptsLoss: acceptsLoss(x),
      ...bounds,
      origin: {
        collection: collection.id,
        layerId: collection.layerId,
        protocol: x.operation.protocol,
        requestId: x.correlationId,
        actor: x.principal.id,
      },
    },
  };
}

function inputCrs(collection: VectorCollection, contentCrs: Crs | undefined): Crs {
  if (!contentCrs) return defaultCrs(collection);
  const offered = collection.crs.find((crs) => crs.uri === contentCrs.uri);
  if (!offered) throw badParameter('Content-Crs', 'is not offered by this collection; see its crs list');
  return offered;
}

/** Whether features of a collection can be changed, at all or by one caller: what OPTIONS tells. */
export function isEditable(deps: EditDeps, collectionId: string, principal?: Principal): boolean {
  const collection = deps.catalog().byId(collectionId);
  if (!collection || !hasFeatures(collection) || !collection.source.writable) return false;
  return principal === undefined || deps.access(principal, collection, 'write').allowed;
}
