import { randomUUID } from 'node:crypto';
import type { Principal, Socket } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { ChangeBounds } from '../../stores/alerts/change-numbers.js';
import type { AlertEventRow } from '../../stores/alerts/events.js';
import type { CloseReason, Transport } from '../streams/session.js';
import type { Visitor } from '../streams/session-quotas.js';

/** Close codes (RFC 6455, 7.4). */
const CODES = { AdminDisconnect: 1008, ServerShutdown: 1001, SlowConsumer: 1013 } as const;
type EndReason = keyof typeof CODES;

/** A connection that receives alerts. */
export interface AlertSubscriber {
  readonly id: string;
  readonly connectedAt: number;
  readonly principal: Principal;
  readonly clientLabel: string | undefined;
  readonly transport: 'WebSocket' | 'SSE';
  /** Sends a notice to operators, or a heartbeat. */
  tell(type: 'notice' | 'heartbeat', members: Readonly<Record<string, unknown>>): void;
  /** Ends the connection if the client has not read for some milliseconds. */
  check(stallMs: number): void;
  close(reason: EndReason): void;
}

/** A WebSocket that receives messages of the channel `websocket`. Unread messages wait in a limited queue. */
export class AlertSocket implements AlertSubscriber {
  readonly id = randomUUID();
  readonly connectedAt = Date.now();
  readonly transport = 'WebSocket';
  #blocked = false;
  readonly #waiting: string[] = [];

  constructor(
    private readonly socket: Socket,
    readonly principal: Principal,
    readonly clientLabel: string | undefined,
  ) {}

  send(frame: string): void {
    if (!this.#blocked) this.#blocked = !this.socket.send(frame, false);
    else if (this.#waiting.length < LIMITS.streamBuffer) this.#waiting.push(frame);
    else this.close('SlowConsumer');
  }

  tell(type: 'notice' | 'heartbeat', members: Readonly<Record<string, unknown>>): void {
    this.send(formatFrame(type === 'notice' ? 'alert' : type, members));
  }

  drained(): void {
    this.#blocked = false;
    for (const frame of this.#waiting.splice(0)) this.send(frame);
  }

  /** A full queue ends the connection. */
  check(): void {}

  close(reason: EndReason): void {
    this.#waiting.length = 0;
    this.socket.close(CODES[reason], reason);
  }
}

/** Store of alert events, and how much of them callers receive. */
interface FollowedEvents {
  bounds(): Promise<ChangeBounds>;
  /** Events that changed after a change, in the order of their last changes. At most `FOLLOWED_PAGE`. */
  changedAfter(change: number): Promise<readonly AlertEventRow[]>;
  /** See `Pauses.current`. */
  current(): Promise<void> | undefined;
  /** JSON of an event for a caller. Undefined for an event that the caller cannot read. */
  present(row: AlertEventRow, principal: Principal): string | undefined;
}

/** Number of events that are read together. */
export const FOLLOWED_PAGE = 200;
const RETRY_MS = 2000;

export interface FollowerOptions {
  readonly transport: Transport;
  readonly visitor: Visitor;
  readonly clientLabel: string | undefined;
  /** Continue after this change. Default: the newest change. */
  readonly cursor: number | undefined;
  readonly events: FollowedEvents;
  closed(follower: AlertFollower): void;
}

/**
 * A stream of server-sent events with the changes of alert events. It reads each change from the state, at the pace of its
 * client, so it loses none of them.
 */
export class AlertFollower implements AlertSubscriber {
  readonly id = randomUUID();
  readonly connectedAt = Date.now();
  readonly transport = 'SSE';
  readonly #options: FollowerOptions;
  /** Undefined until the first read of the bounds. */
  #cursor: number | undefined;
  #isClosed = false;
  #blockedAt: number | undefined;
  #running = false;
  #again = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.wake();
  }

  get principal(): Principal {
    return this.#options.visitor.principal;
  }

  get clientLabel(): string | undefined {
    return this.#options.clientLabel;
  }

  /** There may be changes. */
  wake(): void {
    this.#again = true;
    if (this.#running || this.#isClosed) return;
    this.#running = true;
    void this.#run().finally(() => {
      this.#running = false;
      if (this.#again && this.#timer === undefined && this.#canSend) this.wake();
    });
  }

  get #canSend(): boolean {
    return !this.#isClosed && this.#blockedAt === undefined;
  }

  async #run(): Promise<void> {
    const { events } = this.#options;
    try {
      for (let waits = events.current(); waits; waits = events.current()) await waits;
      this.#cursor ??= await this.#start();
      while (this.#again && this.#canSend) {
        this.#again = false;
        const rows = await events.changedAfter(this.#cursor);
        if (rows.length === FOLLOWED_PAGE) this.#again = true;
        // Rights can have changed while the page was read.
        for (let waits = events.current(); waits; waits = events.current()) await waits;
        for (const row of rows) {
          if (!this.#canSend) {
            this.#again = true;
            break;
          }
          this.#cursor = row.change_number;
          const event = events.present(row, this.principal);
          if (event !== undefined)
            this.#send(`${formatFrame('alert', {}).slice(0, -1)},${event.slice(1)}`, this.#cursor);
        }
      }
    } catch {
      // The state does not respond. The client keeps its connection and its position.
      this.#again = true;
      this.#timer = setTimeout(() => {
        this.#timer = undefined;
        this.wake();
      }, RETRY_MS).unref();
    }
  }

  /** Reports the start position, and changes that can be missing after the requested position. */
  async #start(): Promise<number> {
    const { cursor: requested, events } = this.#options;
    const { newest, trimmed } = await events.bounds();
    const isInvalid = requested !== undefined && requested > newest;
    const cursor = requested === undefined || isInvalid ? newest : requested;
    const message = 'Changes of alert events follow.';
    const members = { status: 'connected', message, subscriberId: this.id, cursor };
    this.#send(formatFrame('status', members), cursor);
    if (isInvalid) this.#tellGap('cursor-invalid', requested, INVALID);
    else if (cursor < trimmed) this.#tellGap('cursor-expired', cursor, EXPIRED);
    return cursor;
  }

  #tellGap(reason: string, requestedCursor: number, message: string): void {
    this.#send(formatFrame('gap', { reason, requestedCursor, message }), undefined);
  }

  #send(frame: string, cursor: number | undefined): void {
    if (this.#isClosed) return;
    if (!this.#options.transport.send(frame, cursor)) this.#blockedAt ??= performance.now();
  }

  tell(type: 'notice' | 'heartbeat', members: Readonly<Record<string, unknown>>): void {
    // A slow client needs no heartbeat, and a client without a start position must not resume after one.
    if (this.#blockedAt !== undefined || this.#cursor === undefined) return;
    if (type === 'notice') this.#send(formatFrame(type, members), undefined);
    else this.#send(formatFrame(type, { ...members, cursor: this.#cursor }), this.#cursor);
  }

  drained(): void {
    this.#blockedAt = undefined;
    if (this.#again) this.wake();
  }

  check(stallMs: number): void {
    if (this.#blockedAt !== undefined && performance.now() - this.#blockedAt > stallMs)
      this.close('SlowConsumer');
  }

  close(reason: CloseReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#options.closed(this);
    this.#options.transport.close(reason);
  }
}

const EXPIRED =
  'The server no longer has all changes after this id. The changes that it still has follow. Read GET /api/v1/admin/observability/alerts for all alert events.';
const INVALID =
  'This id is not from this server. New changes follow. Read GET /api/v1/admin/observability/alerts for all alert events.';

export function formatFrame(type: string, members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ type, timestamp: new Date().toISOString(), ...members });
}
