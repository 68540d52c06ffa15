import { randomUUID } from 'node:crypto';
import { ALERT_LIMITS } from '../../core/alerts/limits.js';
import type { AlertFrame, Notice } from '../../core/cluster/notes.js';
import type { Principal, Socket, SocketEvents } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { Held } from '../access/keys/held-keys.js';
import type { Peers } from '../cluster/peers.js';
import type { Notices } from '../notices/notices.js';
import { opsNotifications } from '../telemetry/event-metrics.js';

/** One who listens, as operators see it. */
export interface AlertSubscriberView {
  readonly subscriberId: string;
  readonly clientLabel: string | null;
  readonly connectedAt: number;
}

const CODES = { AdminDisconnect: 1008, ServerShutdown: 1001, SlowConsumer: 1013 } as const;
const LIST = 'alert subscribers';
const END = 'end an alert subscriber';
const nothing = (): void => undefined;

/** One WebSocket that receives alerts. Unread alerts wait in a limited queue. */
class AlertSubscriber {
  readonly id = randomUUID();
  readonly connectedAt = Date.now();
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

  drained(): void {
    this.#blocked = false;
    for (const frame of this.#waiting.splice(0)) this.send(frame);
  }

  close(reason: keyof typeof CODES): void {
    this.#waiting.length = 0;
    this.socket.close(CODES[reason], reason);
  }
}

/** Part of an alert about a layer that a subscriber can read. `headline`: without the feature. */
export type AlertView = 'all' | 'headline' | 'nothing';

export interface AlertStreamLinks {
  /** Sends a notice to the other gateways of all servers. */
  tell(notice: Notice): void;
  /** Sends an alert to the other gateways of all servers. */
  tellAlert(frame: AlertFrame): void;
}

/** The stream of alerts and notices. Each reaches the subscribers of all gateways. */
export class AlertStream implements Notices {
  readonly #subscribers = new Map<string, AlertSubscriber>();
  readonly #peers: Peers;
  readonly #links: AlertStreamLinks;
  readonly #heartbeat: NodeJS.Timeout;
  /** Records a notice for alert channels. */
  #forward: (notice: Notice) => void = nothing;
  /** Until the catalog is known, subscribers receive no alerts about layers. */
  #view: (principal: Principal, layerId: number) => AlertView = () => 'nothing';

  constructor(peers: Peers, links: AlertStreamLinks, heartbeatMs: number = LIMITS.heartbeatMs) {
    this.#peers = peers;
    this.#links = links;
    peers.answer(LIST, () => this.#list());
    peers.answer(END, (id) => this.#disconnect(String(id)));
    this.#heartbeat = setInterval(() => this.#all('heartbeat', {}), heartbeatMs).unref();
  }

  get isFull(): boolean {
    return this.#subscribers.size >= ALERT_LIMITS.alertSubscribers;
  }

  /** Also sends notices of this gateway elsewhere. */
  forward(forward: (notice: Notice) => void): void {
    this.#forward = forward;
  }

  /** Sets how much of alerts about a layer subscribers receive. */
  restrict(view: (principal: Principal, layerId: number) => AlertView): void {
    this.#view = view;
  }

  notify(notice: Notice): void {
    this.hear(notice);
    this.#links.tell(notice);
    this.#forward(notice);
  }

  /** Sends an alert to the subscribers of all gateways. */
  publish(frame: AlertFrame): void {
    this.hearAlert(frame);
    this.#links.tellAlert(frame);
  }

  /** An alert of any gateway. */
  hearAlert({ json, layerIds, tenant, ...members }: AlertFrame): void {
    if (this.#subscribers.size === 0) return;
    const headline = formatFrame('alert', members);
    const full = `${headline.slice(0, -1)},"event":${json}}`;
    for (const subscriber of this.#subscribers.values()) {
      const { principal } = subscriber;
      // Callers of a tenant get the alerts of the tenant's own rules, as in the list of alert events.
      if (principal.tenantId !== undefined && principal.tenantId !== tenant) continue;
      const views = layerIds.map((id) => this.#view(principal, id));
      // The headline of a digest is a number.
      if (layerIds.length === 1 && views[0] === 'nothing') continue;
      subscriber.send(views.every((view) => view === 'all') ? full : headline);
    }
  }

  /** A notice of another gateway. */
  hear({ kind, severity, subject, message }: Notice): void {
    const outcome = this.#subscribers.size > 0 ? 'delivered' : 'unheard';
    opsNotifications.cell(kind, severity, outcome).inc();
    this.#all('alert', { alertId: randomUUID(), kind, severity, subject, message });
  }

  /** Alerts go to this socket from now on. */
  subscribe(socket: Socket, principal: Principal, clientLabel: string | undefined): SocketEvents {
    const subscriber = new AlertSubscriber(socket, principal, clientLabel);
    this.#subscribers.set(subscriber.id, subscriber);
    const message = 'Alerts follow.';
    subscriber.send(formatFrame('status', { status: 'connected', message, subscriberId: subscriber.id }));
    return {
      // Subscribers only listen.
      message: nothing,
      drained: () => subscriber.drained(),
      closed: () => void this.#subscribers.delete(subscriber.id),
    };
  }

  /** The subscribers of this gateway, for monitoring their keys. */
  *held(): Generator<Held> {
    for (const { id, principal, connectedAt } of this.#subscribers.values())
      yield { principal, connectedAt, end: () => void this.#disconnect(id) };
  }

  /** Subscribers of all gateways of the server. */
  async list(): Promise<AlertSubscriberView[]> {
    return (await this.#peers.ask<AlertSubscriberView[]>(LIST)).flat();
  }

  /** Ends one with AdminDisconnect, whichever gateway has it; false when none has. */
  async disconnect(subscriberId: string): Promise<boolean> {
    return (await this.#peers.ask<boolean>(END, subscriberId)).includes(true);
  }

  #list(): AlertSubscriberView[] {
    return [...this.#subscribers.values()].map(({ id, clientLabel, connectedAt }) => ({
      subscriberId: id,
      clientLabel: clientLabel ?? null,
      connectedAt,
    }));
  }

  #disconnect(subscriberId: string): boolean {
    const subscriber = this.#subscribers.get(subscriberId);
    subscriber?.close('AdminDisconnect');
    return subscriber !== undefined;
  }

  #all(type: 'alert' | 'heartbeat', members: Record<string, unknown>): void {
    if (this.#subscribers.size === 0) return;
    const frame = formatFrame(type, members);
    for (const subscriber of this.#subscribers.values()) subscriber.send(frame);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    for (const subscriber of this.#subscribers.values()) subscriber.close('ServerShutdown');
    this.#subscribers.clear();
  }
}

function formatFrame(type: string, members: Record<string, unknown>): string {
  return JSON.stringify({ type, timestamp: new Date().toISOString(), ...members });
}
