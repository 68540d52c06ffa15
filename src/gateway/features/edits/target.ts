import type { VectorCollection } from '../../../core/catalog/collection.js';
import type { EditTask } from '../../../core/edits/edits.js';
import { badParameter } from '../../../core/errors/errors.js';
import { type Crs, defaultCrs } from '../../../core/geometry/crs.js';
import type { Exchange } from '../../../core/http/operation.js';
import { coordinatesIn, type EditDeps, editTarget } from '../../../services/edits/target.js';
import { type CollectionView, findView } from '../../../services/features/view.js';
import { createEditor } from '../../surface/editor.js';

/** The collection that a request edits, and the CRS of the coordinates that come and go. */
export interface ItemTarget {
  readonly collection: VectorCollection;
  readonly view: CollectionView;
  readonly crs: Crs;
  readonly task: Omit<EditTask, 'source' | 'operations' | 'mode'>;
}

/** Throws 400, 401, 403, 404. */
export function itemTarget(x: Exchange, deps: EditDeps, id: string, contentCrs: Crs | undefined): ItemTarget {
  const view = findView(deps, x.principal, id);
  const { collection, task } = editTarget(deps, createEditor(x), view);
  const crs = inputCrs(collection, contentCrs);
  return { collection, view, crs, task: { ...task, ...coordinatesIn(crs, 'as-defined') } };
}

function inputCrs(collection: VectorCollection, contentCrs: Crs | undefined): Crs {
  if (!contentCrs) return defaultCrs(collection);
  const offered = collection.crs.find((crs) => crs.uri === contentCrs.uri);
  if (!offered)
    throw badParameter('Content-Crs', 'is not supported by this collection. Use a CRS of its crs list');
  return offered;
}
