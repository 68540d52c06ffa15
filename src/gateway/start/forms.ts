import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Catalog } from '../../services/catalog/catalog.js';
import { describeFormLayer } from '../../services/forms/form-layer.js';
import { FormPackages } from '../../services/forms/form-packages.js';
import type { State } from '../../stores/state/state.js';

/** Forms of the layers that are published at the time of each request. */
export function createForms(
  { documents }: Pick<State, 'documents'>,
  catalog: Pick<Catalog, 'current'>,
): FormPackages {
  return new FormPackages({
    documents,
    findLayer(layerId) {
      const layer = catalog.current.byLayerId(layerId);
      return hasFeatures(layer) ? describeFormLayer(layer) : undefined;
    },
  });
}
