import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Catalog } from '../../services/catalog/catalog.js';
import { FieldExports } from '../../services/forms/exports.js';
import { describeFormLayer } from '../../services/forms/form-layer.js';
import { FormPackages } from '../../services/forms/form-packages.js';
import { FieldReviews } from '../../services/forms/reviews.js';
import { type SubmissionEditDeps, SubmissionEdits } from '../../services/forms/submission-edits.js';
import { FieldSubmissions } from '../../services/forms/submissions.js';
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

export interface FieldServices {
  readonly submissions: FieldSubmissions;
  readonly fieldReviews: FieldReviews;
  readonly fieldExports: FieldExports;
}

/** Submissions of forms, from the client to the export. */
export function createFieldServices(
  { documents, fieldSubmissions: store }: Pick<State, 'documents' | 'fieldSubmissions'>,
  forms: FormPackages,
  deps: SubmissionEditDeps,
): FieldServices {
  const edits = new SubmissionEdits(deps);
  return {
    submissions: new FieldSubmissions({ store, forms, edits, sealing: deps.sealing }),
    fieldReviews: new FieldReviews({ store, forms, edits }),
    fieldExports: new FieldExports({ documents, store, forms }),
  };
}
