import type { CatalogSnapshot } from '../../core/catalog/collection.js';
import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import { withReceived } from '../../core/errors/field-errors.js';
import { LIMITS } from '../../core/kit/limits.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import { jsonFrame } from '../../services/streams/frames.js';
import type { Hub, Wish } from '../../services/streams/hub.js';
import { type Session, SLOW_POLICIES } from '../../services/streams/session.js';
import type { StreamMode } from '../../services/streams/subscription.js';
import { type AskedInterest, readInterest } from './interest.js';

/** Codes of error frames, as clients know them. */
export type ControlCode =
  | 'invalid-json'
  | 'invalid-control'
  | 'unsupported-control'
  | 'invalid-subscription'
  | 'invalid-subscription-id'
  | 'invalid-unsubscribe'
  | 'subscription-limit-reached'
  | 'subscription-not-found'
  | 'session-closed'
  | 'control-frame-too-large';

/** The subscription that a connection is opened with; control frames may not name it. */
export const DEFAULT_SUBSCRIPTION = 'default';

interface Control extends AskedInterest {
  type?: unknown;
  subscriptionId?: unknown;
  clientLabel?: unknown;
  layerId?: unknown;
  layerIds?: unknown;
  cursor?: unknown;
  mode?: unknown;
  onSlow?: unknown;
  numbered?: unknown;
}

class ControlError extends Error {
  constructor(
    readonly code: ControlCode,
    message: string,
    readonly subscriptionId?: string,
  ) {
    super(message);
  }
}

export interface ControlDeps {
  hub: Hub;
  visible(): CatalogSnapshot;
  /** Whether the principal may listen to everything. */
  mayAll: boolean;
}

/** Executes a frame of the client. Errors are sent as an error frame. */
export function control(session: Session, frame: unknown, deps: ControlDeps): void {
  try {
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame))
      throw new ControlError('invalid-control', 'A control frame must be a JSON object.');
    act(session, frame as Control, deps);
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    sendError(session, error.code, error.message, error.subscriptionId);
  }
}

export function sendError(
  session: Session,
  code: ControlCode,
  message: string,
  subscriptionId?: string,
): void {
  session.send(
    jsonFrame('error', { code, message, ...(subscriptionId === undefined ? {} : { subscriptionId }) }),
  );
}

function act(session: Session, frame: Control, deps: ControlDeps): void {
  switch (frame.type) {
    case 'subscribe':
      return subscribe(session, frame, deps);
    case 'unsubscribe':
      return unsubscribe(session, frame, deps);
    case 'ping':
      return session.send(
        jsonFrame('status', { status: 'ok', message: 'pong', timestamp: new Date().toISOString() }),
      );
    default:
      throw new ControlError('unsupported-control', 'type: must be subscribe, unsubscribe or ping.');
  }
}

function subscribe(session: Session, frame: Control, { hub, visible, mayAll }: ControlDeps): void {
  const id = getId(frame, 'invalid-subscription-id');
  if (!session.subscriptions.has(id) && session.subscriptions.size >= STREAM_LIMITS.streamSubscriptions)
    throw new ControlError(
      'subscription-limit-reached',
      `A session can have at most ${STREAM_LIMITS.streamSubscriptions} subscriptions. Unsubscribe from one first.`,
      id,
    );
  const policy = SLOW_POLICIES.find((name) => name === frame.onSlow);
  if (frame.onSlow !== undefined && !policy)
    throw new ControlError('invalid-subscription', `onSlow: must be one of ${SLOW_POLICIES.join(', ')}.`, id);
  if (frame.numbered !== undefined && typeof frame.numbered !== 'boolean')
    throw new ControlError('invalid-subscription', 'numbered: must be true or false.', id);
  const layers = frame.layers ?? frame.layerIds ?? frame.layerId;
  let wish: Wish;
  try {
    const interest = readInterest({ ...frame, layers }, visible(), mayAll);
    wish = { id, interest, ...resumption(frame), numbered: frame.numbered };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // An error frame would end the subscription for good.
    if (error.code === 'unavailable') return session.close('SourceUnavailable');
    throw new ControlError('invalid-subscription', error.message, id);
  }
  if (typeof frame.clientLabel === 'string')
    session.clientLabel = frame.clientLabel.slice(0, LIMITS.subscriptionId);
  if (policy) session.policy = policy;
  const refusal = hub.subscribe(session, wish);
  if (refusal) throw new ControlError('subscription-limit-reached', refusal.message, id);
}

function unsubscribe(session: Session, frame: Control, { hub }: ControlDeps): void {
  const id = getId(frame, 'invalid-unsubscribe');
  if (!hub.unsubscribe(session, id))
    throw new ControlError(
      'subscription-not-found',
      'subscriptionId: there is no subscription of this id.',
      id,
    );
}

function getId({ subscriptionId: id }: Control, code: ControlCode): string {
  if (typeof id !== 'string' || id === '' || id.length > LIMITS.subscriptionId || id === DEFAULT_SUBSCRIPTION)
    throw new ControlError(
      code,
      `subscriptionId: must be a string of 1 to ${LIMITS.subscriptionId} characters, and not '${DEFAULT_SUBSCRIPTION}'.`,
    );
  return id;
}

const MODES: readonly unknown[] = ['delta', 'snapshot', 'snapshot-then-delta'];

/** Start position of a subscription. Throws an `ApiError`. */
export function resumption({ mode = 'delta', cursor }: { mode?: unknown; cursor?: unknown }): {
  mode: StreamMode;
  cursor: number | undefined;
} {
  if (!MODES.includes(mode)) throw wrong('mode', `must be one of ${MODES.join(', ')}`, mode);
  if (cursor !== undefined && (!Number.isSafeInteger(cursor) || (cursor as number) < 0))
    throw wrong('cursor', 'must be an integer of at least 0', cursor);
  return { mode: mode as StreamMode, cursor: cursor as number | undefined };
}

const wrong = (name: string, detail: string, value: unknown): ApiError =>
  fieldFailure('invalid-parameter', [withReceived({ name, detail }, value)]);
