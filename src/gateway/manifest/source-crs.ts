import type { Static } from 'typebox';
import { LOCAL_CRS } from '../../core/geometry/stated-crs.js';
import { problem } from '../../core/http/body-problems.js';
import {
  listChosenCrs,
  nameChosenCrs,
  putChosenCrs,
  removeChosenCrs,
} from '../../services/catalog/crs/chosen-crs.js';
import { requireHorizontalCrs } from '../../services/catalog/crs/source-crs.js';
import { createObjectError, type ManifestKind } from './kind.js';
import { SourceCrsSpec } from './schemas.js';

/** CRSs of files that operators chose on the running server. The file does not need to exist. */
export const sourceCrs: ManifestKind = {
  kind: 'SourceCrs',
  scope: 'services',
  schema: SourceCrsSpec,
  list: async ({ state }) =>
    (await listChosenCrs(state.documents)).map((chosen) => ({ name: nameChosenCrs(chosen), spec: chosen })),
  prepare({ name, spec }) {
    const chosen = spec as Static<typeof SourceCrsSpec>;
    const expected = nameChosenCrs(chosen);
    if (name !== expected)
      throw createObjectError(
        problem('metadata/name', `must be ${expected}, which follows from the file and the layer`),
      );
    if (chosen.crs !== LOCAL_CRS)
      requireHorizontalCrs(chosen.crs, (detail) => createObjectError(problem('spec/crs', detail)));
  },
  async write({ documents }, name, spec, by) {
    if (spec) return putChosenCrs(documents, spec as Static<typeof SourceCrsSpec>, by);
    const before = (await listChosenCrs(documents)).find((one) => nameChosenCrs(one) === name);
    if (before) await removeChosenCrs(documents, before);
  },
};
