import type { Principal } from '../../../core/http/operation.js';
import type { ServicesOf } from '../../admin/deps.js';

type Deps = Pick<ServicesOf<readonly ['catalog', 'visible']>, 'catalog' | 'visible'>;

/** Layers that the caller can read, unless these are all, and the tenant of the caller. */
export function restrictEvents(principal: Principal, { catalog, visible }: Deps) {
  const own = visible(principal);
  return {
    layers: own === catalog() ? undefined : own.collections.map(({ layerId }) => layerId),
    tenant: principal.tenantId,
  };
}
