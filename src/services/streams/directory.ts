import { print } from '../../core/cql2/index.js';
import type { Peers } from '../cluster/peers.js';
import * as metrics from '../telemetry/event-metrics.js';
import type { Hub } from './hub.js';
import type { SubscriberInterest } from './scope.js';
import type { Session, TransportName } from './session.js';

/** A session as operators see it. */
interface SessionView {
  sessionId: string;
  transport: TransportName;
  clientLabel: string | null;
  /** RFC 3339. */
  connectedAt: string;
  durationSeconds: number;
  hasFilter: boolean;
  filterSummary: string | null;
  serviceIdFilter: string | null;
  layerIdFilter: number[] | null;
  lastQueuedCursor: number;
}

/** Sessions of one gateway. */
export interface GatewaySessions {
  slowConsumerDrops: number;
  heartbeatsSent: number;
  sessions: SessionView[];
}

const LIST = 'stream sessions';
const END = 'end a stream session';
/** Characters of a filter that are shown. */
const SUMMARY = 500;

/** The sessions of all gateways of the server. */
export class SessionDirectory {
  readonly #peers: Peers;
  readonly #hub: Hub;

  constructor(hub: Hub, peers: Peers) {
    this.#peers = peers;
    this.#hub = hub;
    peers.answer(LIST, () => buildSessions(hub));
    peers.answer(END, (id) => hub.disconnect(String(id)));
  }

  /** Counts of all gateways are added up. */
  async list(): Promise<GatewaySessions> {
    const parts = await this.#peers.ask<GatewaySessions>(LIST);
    return {
      slowConsumerDrops: parts.reduce((sum, part) => sum + part.slowConsumerDrops, 0),
      heartbeatsSent: parts.reduce((sum, part) => sum + part.heartbeatsSent, 0),
      sessions: parts.flatMap(({ sessions }) => sessions),
    };
  }

  /** Sessions of this gateway. */
  get own(): readonly Pick<SessionView, 'sessionId' | 'transport' | 'connectedAt'>[] {
    return [...this.#hub.sessions.values()].map(sessionView);
  }

  /** Ends a session with AdminDisconnect; false when there is none of this id. */
  async disconnect(sessionId: string): Promise<boolean> {
    return (await this.#peers.ask<boolean>(END, sessionId)).includes(true);
  }
}

function buildSessions(hub: Hub): GatewaySessions {
  const drops = metrics.slowConsumerDrops.samples().reduce((sum, { value }) => sum + value, 0);
  return {
    slowConsumerDrops: drops,
    heartbeatsSent: metrics.heartbeatsSent.cell().value,
    sessions: [...hub.sessions.values()].map(sessionView),
  };
}

function sessionView(session: Session): SessionView {
  const interests = [...session.subscriptions.values()].map(({ interest }) => interest);
  const summary = interests
    .map(formatSummary)
    .filter((text) => text !== '')
    .join('; ');
  const layers = interests.every((interest) => interest.layers)
    ? [...new Set(interests.flatMap((interest) => interest.layers!))]
    : [];
  const services = [...new Set(interests.map(({ service }) => service))];
  return {
    sessionId: session.id,
    transport: session.transport.name,
    clientLabel: session.clientLabel ?? null,
    connectedAt: new Date(session.connectedAt).toISOString(),
    durationSeconds: (Date.now() - session.connectedAt) / 1000,
    hasFilter: summary !== '',
    filterSummary: summary === '' ? null : summary.slice(0, SUMMARY),
    serviceIdFilter: services.length === 1 ? (services[0] ?? null) : null,
    layerIdFilter: layers.length > 0 ? layers : null,
    lastQueuedCursor: session.lastCursor,
  };
}

function formatSummary({ bbox, filter, datetime }: SubscriberInterest): string {
  const parts = [
    bbox && `bbox ${bbox.join(',')}`,
    filter !== undefined && `filter ${print(filter).slice(0, SUMMARY)}`,
    datetime && `datetime ${JSON.stringify(datetime)}`,
  ];
  return parts.filter((part) => typeof part === 'string').join(' ');
}
