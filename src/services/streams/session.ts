import { randomUUID } from 'node:crypto';
import type { Principal } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import * as metrics from '../telemetry/event-metrics.js';
import { type Addressee, changeFrame } from './frames.js';
import type { Visitor } from './session-quotas.js';
import type { StreamSubscription } from './subscription.js';

export type TransportName = 'WebSocket' | 'SSE';
export type CloseReason =
  | 'ClientClosed'
  | 'ServerShutdown'
  | 'AdminDisconnect'
  | 'SlowConsumer'
  | 'ControlError'
  /** A layer that the client subscribes to cannot be read yet; a later connection can subscribe to it. */
  | 'SourceUnavailable';

/** Sends the same frame to many clients in one call. */
export interface FrameSender {
  /** Frames of one form are the same for all who take it. */
  readonly form: string;
  frame(addressee: Addressee, body: string): string | Uint8Array;
  /** Like `Transport.send`, for a frame created by `frame`. */
  send(frame: string | Uint8Array): boolean;
  /** To all who joined the topic; false when it is too large for that. */
  publish(topic: string, frame: string | Uint8Array): boolean;
  join(topic: string): void;
  leave(topic: string): void;
  /** Bytes that the client has not read. */
  unread(): number;
}

/** The way to one client. */
export interface Transport {
  readonly name: TransportName;
  /**
   * Sends a frame of JSON text. `cursor` is the cursor after which a client can resume once it has the frame. Returns
   * false if the client reads too slowly. Then no more frames are sent before `Session.drained`.
   */
  send(frame: string, cursor: number | undefined): boolean;
  readonly shared?: FrameSender;
  /** Sends frames together until the callback ends. */
  together(send: () => void): void;
  close(reason: CloseReason): void;
}

/**
 * Policy for slow clients: they get everything later, or only the latest change of each feature. A client that does
 * not read at all is disconnected.
 */
export type SlowPolicy = (typeof SLOW_POLICIES)[number];
export const SLOW_POLICIES = ['drop', 'coalesce'] as const;

/** A change for a subscription; it is numbered when it is sent. */
export interface Change {
  readonly subscription: StreamSubscription;
  readonly featureKey: string;
  readonly body: string;
  readonly cursor: number;
}

export interface SessionHooks {
  closed(session: Session, reason: CloseReason): void;
  /** Called if the client is too far behind for live delivery: its subscriptions are no longer live. */
  behind(session: Session): void;
}

/** One connected client with its subscriptions, and a limited number of frames that it has not read yet. */
export class Session {
  readonly id = randomUUID();
  readonly connectedAt = Date.now();
  readonly subscriptions = new Map<string, StreamSubscription>();
  clientLabel: string | undefined;
  policy: SlowPolicy = 'drop';
  closed = false;
  /** Cursor of the last change that was sent. */
  lastCursor = 0;
  #blocked = false;
  #blockedAt = 0;
  #pending: Change[] = [];
  #byFeature = new Map<string, Change>();
  #waiting: (() => void)[] = [];

  constructor(
    readonly transport: Transport,
    readonly visitor: Visitor,
    private readonly hooks: SessionHooks,
  ) {}

  get principal(): Principal {
    return this.visitor.principal;
  }

  /** Sends a frame other than a change: responses, snapshots, heartbeats. These are few, or paced by `writable`. */
  send(frame: string, cursor?: number): void {
    if (this.closed) return;
    if (!this.transport.send(frame, cursor)) this.#block();
  }

  #block(): void {
    if (!this.#blocked) this.#blockedAt = performance.now();
    this.#blocked = true;
  }

  /** Sends a change, or keeps it until the client has read its frames. */
  change(change: Change): void {
    if (this.closed || change.subscription.ended) return;
    if (this.#blocked) this.#keep(change);
    else this.#sendChange(change.subscription, change.body, change.cursor);
  }

  #sendChange(subscription: StreamSubscription, body: string, cursor: number): void {
    this.lastCursor = cursor;
    const { shared } = this.transport;
    const sent = shared
      ? shared.send(shared.frame(subscription, body))
      : this.transport.send(changeFrame(subscription, body), cursor);
    if (!sent) this.#block();
  }

  /** Sends a frame that other sessions also get. */
  sendShared(frame: string | Uint8Array): void {
    if (!this.closed && !this.transport.shared!.send(frame)) this.#block();
  }

  /** Whether the client has unread data, including frames that were sent to many clients. */
  senseBacklog(): boolean {
    if (!this.#blocked && this.transport.shared!.unread() > 0) this.#block();
    return this.#blocked;
  }

  #keep(change: Change): void {
    if (this.policy === 'coalesce') this.#dropEarlier(change);
    if (this.#pending.length >= LIMITS.streamBuffer) return this.fallBack(change.cursor);
    this.#pending.push(change);
    if (this.policy === 'coalesce') this.#byFeature.set(changeKey(change), change);
  }

  /**
   * Discards waiting changes. They are read again from the feed once the client has read. `cursor` is the first entry
   * that was not sent in this session.
   */
  fallBack(cursor: number): void {
    for (const subscription of this.subscriptions.values()) {
      if (!subscription.live) continue;
      const first = this.#pending.find((change) => change.subscription === subscription);
      subscription.position = (first?.cursor ?? cursor) - 1;
      subscription.pause();
    }
    this.#pending = [];
    this.#byFeature.clear();
    this.hooks.behind(this);
  }

  /** Cursor that all its subscriptions have reached, given that the live ones have reached `passed`. */
  reached(passed: number): number {
    let least = passed;
    for (const { live, position } of this.subscriptions.values())
      if (!live) least = Math.min(least, position);
    return least;
  }

  /** Whether changes wait for the client to read. */
  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** Sends a change of the past; `writable` paces them. */
  replay(subscription: StreamSubscription, body: string, cursor: number): void {
    if (!this.closed && !subscription.ended) this.#sendChange(subscription, body, cursor);
  }

  /** Milliseconds for which the client has not read waiting frames. 0 if none wait. */
  get stalledMs(): number {
    return this.#blocked ? performance.now() - this.#blockedAt : 0;
  }

  /**
   * Removes the waiting change of the same feature, because the latest change is added at the end, in the order of
   * cursors.
   */
  #dropEarlier(change: Change): void {
    const waiting = this.#byFeature.get(changeKey(change));
    if (!waiting) return;
    metrics.slowConsumerDrops.cell(this.transport.name).inc();
    this.#pending.splice(this.#pending.indexOf(waiting), 1);
  }

  /** The client has read: what waits is sent. */
  drained(): void {
    this.#blocked = false;
    this.transport.together(() => {
      let sent = 0;
      for (; sent < this.#pending.length && !this.#blocked; sent++) {
        const { subscription, body, cursor } = this.#pending[sent]!;
        if (!subscription.ended) this.#sendChange(subscription, body, cursor);
      }
      for (const change of this.#pending.splice(0, sent)) this.#byFeature.delete(changeKey(change));
    });
    if (!this.#blocked) for (const go of this.#waiting.splice(0)) go();
  }

  /** Whether the client has something left to read before more is sent to it. */
  get blocked(): boolean {
    return this.#blocked && !this.closed;
  }

  /**
   * Resolves once the client has read its frames, or has disconnected. Until then other subscriptions can have sent
   * more.
   */
  writable(): Promise<void> {
    if (!this.#blocked || this.closed) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Idempotent. */
  close(reason: CloseReason): void {
    if (this.closed) return;
    this.closed = true;
    for (const subscription of this.subscriptions.values()) subscription.ended = true;
    this.#pending = [];
    this.#byFeature.clear();
    for (const go of this.#waiting.splice(0)) go();
    this.hooks.closed(this, reason);
    this.transport.close(reason);
  }
}

function changeKey({ subscription, featureKey }: Change): string {
  return `${subscription.id}\u0000${featureKey}`;
}
