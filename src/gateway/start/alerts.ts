import type { Operation } from '../../core/http/operation.js';
import type { AlertDispatch } from '../../services/alerts/dispatch.js';
import { createAuthorViews } from '../../services/alerts/evaluation/author-views.js';
import { Evaluator } from '../../services/alerts/evaluation/evaluator.js';
import { AlertRules } from '../../services/alerts/rules.js';
import { alertPageOperations } from '../alerts/pages.js';
import type { AccessServices } from './access.js';
import type { Data } from './data.js';
import type { Foundation } from './foundation.js';

/** The rules of alerts. */
export function createAlertRules(
  { state, pools }: Foundation,
  { catalog, events, visible }: Data,
  { configured }: Pick<AlertDispatch, 'configured'>,
): AlertRules {
  return new AlertRules({
    zones: state.alertZones,
    rules: state.alertRules,
    pools,
    visible: (principal) => visible.of(principal),
    hasEvents: (id) => events.hasEvents(id),
    simulation: { feed: events.feed, pools, catalog: () => catalog.current },
    isConfigured: (channel) => configured.has(channel),
  });
}

/** Services for rules and channels of alerts. */
export interface AlertServices {
  readonly alertDispatch: AlertDispatch;
  readonly alertRules: AlertRules;
}

/** Operations of the pages of alerts. */
export function createAlertPages(
  { alerts, state }: Foundation,
  { events, visible }: Data,
  services: AlertServices,
): Operation[] {
  return alertPageOperations({
    ...services,
    alerts,
    state,
    visible: (principal) => visible.of(principal),
    hasEvents: (id) => events.hasEvents(id),
  });
}

/** Starts to evaluate the rules, in turn with the other processes. Returns how to stop. */
export function startEvaluation(
  { state, pools, log, instance }: Foundation,
  { catalog, events, visible }: Data,
  { presentRights }: AccessServices,
): () => Promise<void> {
  const evaluator = new Evaluator({
    pools,
    store: state.alertEvaluation,
    lanes: state.deliveries,
    feed: events.feed,
    log,
    instance,
    catalog: () => catalog.current,
    viewOf: createAuthorViews({ presentRights, visible: (principal) => visible.of(principal) }),
  });
  const stops = [
    events.feed.listen(() => evaluator.wake()),
    state.signals.on('alerts', () => evaluator.changed()),
  ];
  evaluator.changed();
  return async () => {
    for (const stop of stops) stop();
    await evaluator.close();
  };
}
