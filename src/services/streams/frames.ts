import { createHash } from 'node:crypto';
import type { FeatureEvent } from '../../core/edits/edits.js';
import { SERVICE_ID } from '../../core/kit/service.js';
import type { FeedEvent } from '../../core/streams/events.js';
import { stringifyExactly } from '../../core/values/json.js';
import { type ObjectId, readObjectId } from '../../core/values/object-id.js';
import type { ListenerEventKind } from './recipients.js';
import type { Scope } from './scope.js';
import { shownAttributes, shownChanges } from './shown.js';

type Mask = Pick<Scope, 'fields' | 'mask'>;

/** CRS of all geometries in frames: longitude first, as GeoJSON has it. */
export const FRAME_CRS = 'EPSG:4326';

/**
 * The bodies of one entry's frames. Each shape, an appearance for readers of the same attributes, is created once for
 * all its recipients.
 */
export class ChangeBodies {
  readonly #texts = new Map<string, string>();

  constructor(private readonly entry: FeedEvent) {}

  /** JSON text of the members, which follow those of the subscription: `"eventId":...}`. */
  text(appearance: ListenerEventKind, scope: Mask): string {
    const key = `${appearance} ${scope.mask}`;
    let text = this.#texts.get(key);
    if (text === undefined) this.#texts.set(key, (text = bodyText(this.entry, appearance, scope)));
    return text;
  }
}

function bodyText({ cursor, event }: FeedEvent, appearance: ListenerEventKind, { fields }: Mask): string {
  const head = {
    eventId: event.eventId,
    cursor,
    timestamp: event.time,
    serviceId: SERVICE_ID,
    layerId: event.layerId,
    featureId: event.featureId,
    objectId: computeObjectId(event.featureId),
    operation: appearance === 'leave' ? 'delete' : appearance,
    protocol: event.protocol,
    requestId: event.requestId,
  };
  // A frame about a feature that leaves the view has no data of the feature, because its new location is not visible.
  const parts = [stringifyExactly(head).slice(1, -1)];
  if (appearance !== 'leave') {
    if (event.geometry !== undefined) parts.push(`"geometry":${event.geometry},"geometryCrs":"${FRAME_CRS}"`);
    if (event.attributes !== undefined)
      parts.push(`"attributes":${shownAttributes(event.attributes, fields)}`);
    parts.push(`"changedAttributes":${JSON.stringify(shownChanges(event, fields))}`);
  }
  const geometryChanged = appearance === 'leave' ? false : event.geometryChanged;
  parts.push(`"geometryChanged":${geometryChanged}}`);
  return parts.join(',');
}

/** A number for clients that identify features by number: the id if it is a number, else 48 bits derived from it. */
export function computeObjectId(featureId: FeatureEvent['featureId']): ObjectId {
  const id = /^-?\d+$/.test(featureId) ? readObjectId(featureId) : undefined;
  if (id !== undefined) return id;
  return createHash('sha1').update(featureId).digest().readUIntBE(0, 6);
}

/** Recipient of frames: one subscription, or several that get the same frames. */
export interface Addressee {
  readonly id: string;
  /** The id as JSON. */
  readonly idText: string;
  /** Returns the number of the next frame and increases it. Undefined if frames are not numbered. */
  next(): number | undefined;
}

/** One frame of a subscription: its own members, then the body. Numbers it. */
export function changeFrame(addressee: Addressee, body: string): string {
  const sequence = addressee.next();
  const number = sequence === undefined ? '' : `"sequence":${sequence},`;
  return `{"type":"feature-change","subscriptionId":${addressee.idText},${number}${body}`;
}

export function jsonFrame(type: string, members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type, ...members });
}
