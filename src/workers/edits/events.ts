import type { FeatureEvent } from '../../core/edits/edits.js';
import type { Box } from '../../core/geometry/box.js';
import { computeEnvelope } from '../../core/geometry/box.js';
import { membersIn, objectText } from '../../core/values/json-text.js';
import type { NewEvent, StoredFeature } from './session.js';

/** Creation of events from features before and after a change. */

/**
 * Entry in an outbox for changes that are not published one by one. Readers of events do not receive it as an event.
 */
export const GAP = {
  featureId: '',
  operation: 'gap' as NewEvent['operation'],
  changedAttributes: [],
  geometryChanged: true,
} satisfies NewEvent;

/** Returns the cursors of gaps, which represent changes that are not published one by one. */
export function gapsIn(events: readonly FeatureEvent[]): { gaps?: number[] } {
  const gaps = events.filter(({ operation }) => operation === GAP.operation);
  return gaps.length > 0 ? { gaps: gaps.map(({ cursor }) => cursor) } : {};
}

export function insertion(after: StoredFeature): NewEvent {
  return {
    ...content(after),
    operation: 'insert',
    envelopeAfter: parseBox(after.geometry84),
    changedAttributes: [...membersIn(after.properties)!.keys()],
    geometryChanged: after.geometry !== 'null',
  };
}

export function deletion(before: StoredFeature): NewEvent {
  return {
    ...content(before),
    operation: 'delete',
    envelopeBefore: parseBox(before.geometry84),
    changedAttributes: [...membersIn(before.properties)!.keys()],
    geometryChanged: before.geometry !== 'null',
  };
}

export function update(before: StoredFeature, after: StoredFeature): NewEvent {
  const [old, now] = [membersIn(before.properties)!, membersIn(after.properties)!];
  const changed = [...now.keys()].filter((name) => old.get(name) !== now.get(name));
  const geometryChanged = before.geometry !== after.geometry;
  return {
    ...content(after),
    operation: 'update',
    envelopeBefore: parseBox(before.geometry84),
    envelopeAfter: parseBox(after.geometry84),
    geometryBefore: geometryChanged ? before.geometry84 : undefined,
    attributesBefore: objectText(changed.map((name) => [name, old.get(name) ?? 'null'])),
    changedAttributes: changed,
    geometryChanged,
  };
}

function content({ id, geometry84, properties }: StoredFeature) {
  return { featureId: id, geometry: geometry84 === 'null' ? undefined : geometry84, attributes: properties };
}

/** The box around a GeoJSON geometry; undefined when it has no position. */
function parseBox(geometry: string): Box | undefined {
  return computeEnvelope(JSON.parse(geometry));
}
