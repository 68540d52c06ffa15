import type { CatalogSnapshot } from '../../../core/catalog/collection.js';
import type { Principal } from '../../../core/http/operation.js';
import { isAdministrator } from '../../../services/access/rules/policy.js';
import type { AlertStream } from '../../../services/alerts/stream.js';
import type { AlertEventRow } from '../../../stores/alerts/events.js';
import type { State } from '../../../stores/state/state.js';
import { alertEventView } from './alert-views.js';

/** Alert events, and how much of them callers can read. */
export interface EventListDeps {
  readonly alerts: Pick<AlertStream, 'viewOf'>;
  readonly state: Pick<State, 'alertEvents'>;
  visible(principal: Principal): CatalogSnapshot;
}

/**
 * Layers whose alert events the caller can read, and the tenant of the caller. If row policies apply to the caller, an
 * event could be about a hidden feature. Administrators also read events of layers that are no longer published.
 */
export function restrictEvents(principal: Principal, { alerts, visible }: Omit<EventListDeps, 'state'>) {
  const listLayers = () =>
    visible(principal)
      .collections.map(({ layerId }) => layerId)
      .filter((id) => alerts.viewOf(principal, id) !== 'nothing');
  return {
    layers: isAdministrator(principal) ? undefined : listLayers(),
    tenant: principal.tenantId,
  };
}

export const viewEvent = (
  row: AlertEventRow,
  now: number,
  principal: Principal,
  { alerts }: Pick<EventListDeps, 'alerts'>,
) => alertEventView(row, now, alerts.viewOf(principal, row.layer_id));
