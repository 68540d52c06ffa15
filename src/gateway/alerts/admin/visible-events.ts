import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import type { Principal } from '../../../core/http/operation.js';
import type { AlertStream } from '../../../services/alerts/stream.js';
import type { AlertEventRow } from '../../../stores/alerts/events.js';
import type { State } from '../../../stores/state/state.js';
import { alertEventView } from './alert-views.js';

/** Alert events, and how much of them callers can read. */
export interface EventListDeps {
  readonly alerts: Pick<AlertStream, 'viewOf'>;
  readonly state: Pick<State, 'alertEvents'>;
  catalog(): CatalogSnapshot;
  visible(principal: Principal): CatalogSnapshot;
}

/**
 * Layers whose alert events the caller can read, unless these are all, and the tenant of the caller. If row policies apply
 * to the caller, an event could be about a hidden feature.
 */
export function restrictEvents(
  principal: Principal,
  { alerts, catalog, visible }: Omit<EventListDeps, 'state'>,
) {
  const own = visible(principal);
  const layerIds = own.collections.map(({ layerId }) => layerId);
  return {
    layers:
      own === catalog() ? undefined : layerIds.filter((id) => alerts.viewOf(principal, id) !== 'nothing'),
    tenant: principal.tenantId,
  };
}

export const viewEvent = (
  row: AlertEventRow,
  now: number,
  principal: Principal,
  { alerts }: Pick<EventListDeps, 'alerts'>,
) => alertEventView(row, now, alerts.viewOf(principal, row.layer_id));
