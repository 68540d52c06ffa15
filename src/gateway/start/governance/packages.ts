import type { Config } from '../../../core/config/config.js';
import type { Pools } from '../../../core/tasks/tasks.js';
import type { Catalog } from '../../../services/catalog/catalog.js';
import { Federation } from '../../../services/federation/federation.js';
import { listFederatedSettings } from '../../../services/federation/settings.js';
import { PackageReviews } from '../../../services/packages/reviews.js';
import type { Processes } from '../../../services/processes/service.js';
import { createPackageChecks } from '../../packages/checks.js';

interface ReviewOptions
  extends Pick<ConstructorParameters<typeof PackageReviews>[0], 'visible' | 'access' | 'styles'> {
  readonly config: Config;
  readonly pools: Pools;
  readonly catalog: Catalog;
}

/** Reviews of packages, and plans of federated queries. */
export function createReviews(
  { config, pools, catalog, visible, access, styles }: ReviewOptions,
  processes: Processes,
): { readonly packageReviews: PackageReviews; readonly federation: Federation } {
  const current = () => catalog.current;
  return {
    packageReviews: new PackageReviews({
      ...createPackageChecks(processes, visible),
      ...{ catalog: current, visible, access, styles },
    }),
    federation: new Federation({
      ...{ sources: listFederatedSettings(config.federation.sources), pools, catalog: current },
    }),
  };
}
