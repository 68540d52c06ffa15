import type { AlertMap } from './alert-map.js';

/** Result of a test of a rule. */
export interface RuleTestResult {
  readonly isValid: boolean;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly simulation: {
    readonly from: string;
    readonly editCount: number;
    readonly triggerCount: number;
    readonly triggers: readonly Trigger[];
    readonly isComplete: boolean;
  } | null;
}

interface Trigger {
  readonly featureId: string;
  readonly occurredAt: string;
  readonly position: readonly [number, number] | null;
}

/** Describes a test in words. Names are text nodes: data is never parsed as markup. */
export function describeTest(
  { simulation, warnings }: RuleTestResult,
  trigger: string,
  collection: string | undefined,
): HTMLElement[] {
  if (!simulation) return [];
  const { triggerCount, editCount, triggers, isComplete, from } = simulation;
  const since = `in ${count(editCount, 'edit')} since ${formatTime(from)}`;
  const text =
    trigger === 'dwell'
      ? `${count(triggerCount, 'feature')} entered the zone ${since}. Each of them triggers an alert if it stays long enough.`
      : `The rule would have triggered ${count(triggerCount, 'alert')} ${since}.`;
  const rest = triggerCount > triggers.length ? ` The last ${triggers.length} of them:` : '';
  const list = document.createElement('ul');
  list.append(...[...triggers].reverse().map((one) => describeTrigger(one, collection)));
  return [
    createText('p', `${text}${rest}`),
    ...(triggers.length > 0 ? [list] : []),
    ...(isComplete ? [] : [createText('p', 'The server has not all edits of this hour.')]),
    ...warnings.map((warning) => createText('p', warning)),
  ];
}

function describeTrigger({ featureId, occurredAt }: Trigger, collection: string | undefined): HTMLElement {
  const item = document.createElement('li');
  const name = createText('bdi', featureId);
  if (collection === undefined) item.append(name);
  else {
    const link = document.createElement('a');
    link.href = `${collection}/items/${encodeURIComponent(featureId)}?f=html`;
    link.append(name);
    item.append('Feature ', link);
  }
  item.append(` at ${formatTime(occurredAt)}`);
  return item;
}

/** Marks the features of a test on the map. */
export function showTest(map: AlertMap, { simulation }: RuleTestResult, severity: string): void {
  const triggers = simulation?.triggers ?? [];
  map.setIncidents(
    triggers.flatMap(({ featureId, occurredAt, position }, i) =>
      position
        ? [{ eventId: i, severity, position, title: `Feature ${featureId}, ${formatTime(occurredAt)}` }]
        : [],
    ),
  );
}

const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
const formatTime = (iso: string) => new Date(iso).toLocaleTimeString();

function createText(name: string, text: string): HTMLElement {
  const element = document.createElement(name);
  element.textContent = text;
  return element;
}
