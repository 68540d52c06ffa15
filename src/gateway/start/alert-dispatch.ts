import { hasFeatures } from '../../core/catalog/abilities.js';
import type { Collection } from '../../core/catalog/collection.js';
import { isAdministrator } from '../../services/access/rules/policy.js';
import { AlertDispatch } from '../../services/alerts/dispatch.js';
import type { AlertView } from '../../services/alerts/stream.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';

/** Prepares the channels of alerts, and limits the stream of alerts to the layers that its subscribers can read. */
export function createAlertDispatch(
  { config, state, log, alerts, instance }: Foundation,
  { visible }: Data,
): AlertDispatch {
  state.signals.on('alert-events', () => alerts.changed());
  alerts.restrict((principal, layerId) => {
    const collection = visible.of(principal).byLayerId(layerId);
    // The layer may no longer be published.
    return !collection && isAdministrator(principal) ? 'headline' : viewAlerts(collection);
  });
  return new AlertDispatch({ config, store: state.deliveries, log, stream: alerts, instance });
}

/** Alerts contain features as the author of the rule can read them. Row policies of the reader could hide them. */
function viewAlerts(collection: Collection | undefined): AlertView {
  if (!hasFeatures(collection)) return 'nothing';
  const { rule } = collection;
  if (rule?.scope !== 'caller') return 'all';
  return rule.rows === undefined ? 'headline' : 'nothing';
}
