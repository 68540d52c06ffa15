import { randomUUID } from 'node:crypto';
import { ALERT_LIMITS } from '../../core/alerts/limits.js';
import type { AlertFrame, Notice } from '../../core/cluster/notes.js';
import type { Principal, Socket, SocketEvents } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import { STREAM_LIMITS } from '../../core/streams/limits.js';
import { parseJsonExactly, stringifyExactly } from '../../core/values/json.js';
import type { AlertEventRow, AlertEventStore } from '../../stores/alerts/events.js';
import type { Held } from '../access/keys/held-keys.js';
import type { Peers } from '../cluster/peers.js';
import type { Notices } from '../notices/notices.js';
import type { Transport } from '../streams/session.js';
import { SessionQuotas, type Visitor } from '../streams/session-quotas.js';
import { opsNotifications } from '../telemetry/event-metrics.js';
import {
  AlertFollower,
  AlertSocket,
  type AlertSubscriber,
  FOLLOWED_PAGE,
  formatFrame,
} from './subscribers.js';

/** One who listens, as operators see it. */
export interface AlertSubscriberView {
  readonly subscriberId: string;
  readonly clientLabel: string | null;
  readonly transport: 'WebSocket' | 'SSE';
  readonly connectedAt: number;
}

const LIST = 'alert subscribers';
const END = 'end an alert subscriber';
const CHECK_MS = 1000;
const nothing = (): void => undefined;

/** Part of an alert about a layer that a subscriber can read. `headline`: without the feature. */
export type AlertView = 'all' | 'headline' | 'nothing';

export interface AlertStreamLinks {
  /** Sends a notice to the other gateways of all servers. */
  tell(notice: Notice): void;
  /** Sends an alert to the other gateways of all servers. */
  tellAlert(frame: AlertFrame): void;
  readonly events: Pick<AlertEventStore, 'changeBounds' | 'changedAfter'>;
  /** See `Pauses.current`. */
  current(): Promise<void> | undefined;
}

/** A request for server-sent events. */
export interface FollowRequest {
  readonly transport: Transport;
  readonly visitor: Visitor;
  readonly clientLabel: string | undefined;
  /** The client has all changes up to this one. */
  readonly cursor: number | undefined;
  /** JSON of an event. `view` is not `nothing`. */
  present(row: AlertEventRow, view: AlertView): string;
}

/** Milliseconds between heartbeats, and for which a client may read nothing. */
interface AlertStreamTimes {
  readonly heartbeatMs: number;
  readonly stallMs: number;
}

/** The stream of alerts and notices. Each reaches the subscribers of all gateways. */
export class AlertStream implements Notices {
  readonly #subscribers = new Map<string, AlertSubscriber>();
  readonly #quotas = new SessionQuotas({
    total: ALERT_LIMITS.alertSubscribers,
    perAddress: 0,
    perKey: ALERT_LIMITS.alertSubscribersPerKey,
  });
  /** Pages of changes that several followers need, by the change before them. */
  readonly #pages = new Map<number, Promise<readonly AlertEventRow[]>>();
  readonly #peers: Peers;
  readonly #links: AlertStreamLinks;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #check: NodeJS.Timeout;
  /** Records a notice for alert channels. */
  #forward: (notice: Notice) => void = nothing;
  /** Until the catalog is known, subscribers receive no alerts about layers. */
  #view: (principal: Principal, layerId: number) => AlertView = () => 'nothing';

  constructor(
    peers: Peers,
    links: AlertStreamLinks,
    { heartbeatMs, stallMs }: AlertStreamTimes = {
      heartbeatMs: LIMITS.heartbeatMs,
      stallMs: STREAM_LIMITS.streamStallMs,
    },
  ) {
    this.#peers = peers;
    this.#links = links;
    peers.answer(LIST, () => this.#list());
    peers.answer(END, (id) => this.#disconnect(String(id)));
    this.#heartbeat = setInterval(() => this.#all('heartbeat', {}), heartbeatMs).unref();
    this.#check = setInterval(() => {
      for (const subscriber of [...this.#subscribers.values()]) subscriber.check(stallMs);
    }, CHECK_MS).unref();
  }

  /** Throws 503 or 429 if this client cannot have another connection now. */
  requirePlace(visitor: Visitor): void {
    const refusal = this.#quotas.refusal(visitor);
    if (refusal) throw refusal;
  }

  /** Also sends notices of this gateway elsewhere. */
  forward(forward: (notice: Notice) => void): void {
    this.#forward = forward;
  }

  /** Sets how much of alerts about a layer subscribers receive. */
  restrict(view: (principal: Principal, layerId: number) => AlertView): void {
    this.#view = view;
  }

  /** Returns the part of alerts about a layer that a caller receives. */
  viewOf(principal: Principal, layerId: number): AlertView {
    return this.#view(principal, layerId);
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
    const digest = members.kind === 'digest' ? readDigest(json) : undefined;
    for (const subscriber of this.#subscribers.values()) {
      // Followers read alert events from the state.
      if (!(subscriber instanceof AlertSocket)) continue;
      const { principal } = subscriber;
      if (digest) {
        const readable = digest.alerts.filter((one) => this.#viewListed(principal, one) !== 'nothing');
        const isComplete =
          principal.tenantId === undefined &&
          digest.alerts.every((one) => this.#viewListed(principal, one) === 'all');
        if (isComplete) subscriber.send(full);
        else if (readable.length > 0) subscriber.send(formatPart(members, digest, readable));
        continue;
      }
      if (!isOfTenant(principal, tenant)) continue;
      const views = layerIds.map((id) => this.#view(principal, id));
      if (views.includes('nothing')) continue;
      subscriber.send(views.every((view) => view === 'all') ? full : headline);
    }
  }

  /** Part of an alert of a digest that a caller receives. Notices have no layer. */
  #viewListed(principal: Principal, { layerId, tenant }: DigestEntry): AlertView {
    if (!isOfTenant(principal, tenant)) return 'nothing';
    return layerId === undefined ? 'all' : this.#view(principal, layerId);
  }

  /** A notice of another gateway. */
  hear({ kind, severity, subject, message }: Notice): void {
    const outcome = this.#subscribers.size > 0 ? 'delivered' : 'unheard';
    opsNotifications.cell(kind, severity, outcome).inc();
    this.#all('notice', { alertId: randomUUID(), kind, severity, subject, message });
  }

  /** Alerts go to this socket from now on. */
  subscribe(socket: Socket, visitor: Visitor, clientLabel: string | undefined): SocketEvents {
    const subscriber = new AlertSocket(socket, visitor.principal, clientLabel);
    this.#quotas.take(visitor);
    this.#subscribers.set(subscriber.id, subscriber);
    const message = 'Alerts follow.';
    subscriber.send(formatFrame('status', { status: 'connected', message, subscriberId: subscriber.id }));
    return {
      // Subscribers only listen.
      message: nothing,
      drained: () => subscriber.drained(),
      closed: () => this.#forget(subscriber, visitor),
    };
  }

  /** Sends the changes of alert events from now on. Undefined if there are too many connections. */
  follow({ present, ...request }: FollowRequest): AlertFollower | undefined {
    const { visitor } = request;
    if (this.#quotas.refusal(visitor)) return undefined;
    this.#quotas.take(visitor);
    const follower = new AlertFollower({
      ...request,
      events: {
        bounds: () => this.#links.events.changeBounds(),
        changedAfter: (change) => this.#readPage(change),
        current: () => this.#links.current(),
        present: (row, principal) => {
          const view = isOfTenant(principal, row.tenant) ? this.#view(principal, row.layer_id) : 'nothing';
          return view === 'nothing' ? undefined : present(row, view);
        },
      },
      closed: (one) => this.#forget(one, visitor),
    });
    this.#subscribers.set(follower.id, follower);
    return follower;
  }

  /** Alert events may have changed, on any server. */
  changed(): void {
    this.#pages.clear();
    for (const subscriber of this.#subscribers.values())
      if (subscriber instanceof AlertFollower) subscriber.wake();
  }

  #readPage(change: number): Promise<readonly AlertEventRow[]> {
    const known = this.#pages.get(change);
    if (known) return known;
    const page = this.#links.events.changedAfter(change, FOLLOWED_PAGE);
    this.#pages.set(change, page);
    const drop = () => {
      if (this.#pages.get(change) === page) this.#pages.delete(change);
    };
    // Followers that were woken together share a page, which is then not needed again.
    page.then(() => setImmediate(drop), drop);
    return page;
  }

  #forget({ id }: AlertSubscriber, visitor: Visitor): void {
    if (this.#subscribers.delete(id)) this.#quotas.release(visitor);
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
    return [...this.#subscribers.values()].map(({ id, clientLabel, transport, connectedAt }) => ({
      subscriberId: id,
      clientLabel: clientLabel ?? null,
      transport,
      connectedAt,
    }));
  }

  #disconnect(subscriberId: string): boolean {
    const subscriber = this.#subscribers.get(subscriberId);
    subscriber?.close('AdminDisconnect');
    return subscriber !== undefined;
  }

  /** Notices are about the server, so callers of a tenant receive none. */
  #all(type: 'notice' | 'heartbeat', members: Record<string, unknown>): void {
    for (const subscriber of [...this.#subscribers.values()])
      if (type === 'heartbeat' || subscriber.principal.tenantId === undefined) subscriber.tell(type, members);
  }

  close(): void {
    clearInterval(this.#heartbeat);
    clearInterval(this.#check);
    for (const subscriber of [...this.#subscribers.values()]) subscriber.close('ServerShutdown');
    this.#subscribers.clear();
  }
}

/** An alert or a notice in a digest. */
interface DigestEntry {
  readonly layerId?: number;
  readonly tenant?: string;
}

interface Digest {
  readonly time: string;
  readonly alerts: readonly DigestEntry[];
}

const readDigest = (json: string): Digest => parseJsonExactly(json, 'all') as Digest;

/** Frame with some alerts of a digest. Omits the number of other alerts. */
function formatPart(members: object, { time }: Digest, alerts: readonly DigestEntry[]): string {
  const title = alerts.length === 1 ? '1 alert' : `${alerts.length} alerts`;
  const event = stringifyExactly({ type: 'digest', count: alerts.length, time, alerts });
  const headline = formatFrame('alert', { ...members, subject: title, message: title });
  return `${headline.slice(0, -1)},"event":${event}}`;
}

/** Callers of a tenant get the alerts of the tenant's own rules, as in the list of alert events. */
const isOfTenant = ({ tenantId }: Principal, tenant: string | null | undefined) =>
  tenantId === undefined || tenantId === tenant;
