import { WebSocket } from 'ws';
import {
  type DataFrame,
  FeatureMirror,
  FeatureStream,
  followEvents,
  type Gap,
  type Interest,
  type SubscriptionHandlers,
} from '../../../src/client/index.js';

const DELAYS = { firstMs: 50, longestMs: 500 };

/** A subscription with its mirror and its counts. */
export class Follower {
  mirror = new FeatureMirror();
  readonly counts = { events: 0, duplicates: 0, gaps: 0, snapshots: 0, connections: 0 };
  readonly gaps: Gap[] = [];
  lastCursor = 0;
  /** Complaints about what it was told. */
  readonly wrong: string[] = [];
  /** Of each feature the number of the last batch that changed it; only without snapshots, which repeat. */
  readonly #batches = new Map<string, number>();
  readonly #events = new Set<string>();

  constructor(
    readonly name: string,
    readonly interest: Interest,
    /** The same question to the items of the API. */
    readonly query = '',
  ) {}

  readonly handlers: SubscriptionHandlers = {
    onFrame: (frame) => this.#take(frame),
    onDuplicate: () => void this.counts.duplicates++,
    onGap: (gap) => {
      this.counts.gaps++;
      this.gaps.push(gap);
    },
    onError: ({ code, message }) => this.wrong.push(`${code}: ${message}`),
  };

  #take(frame: DataFrame): void {
    this.mirror.apply(frame);
    this.lastCursor = frame.cursor;
    if (frame.type === 'snapshot-begin') this.counts.snapshots++;
    if (frame.type !== 'feature-change') return;
    this.counts.events++;
    if (this.#events.has(frame.eventId)) this.wrong.push(`event ${frame.eventId} came twice`);
    this.#events.add(frame.eventId);
    if (this.interest.mode || frame.operation === 'delete') return;
    const batch = Number(/-b(\d+)-/.exec(String(frame.attributes!['name']))![1]);
    if (batch <= (this.#batches.get(frame.featureId) ?? 0))
      this.wrong.push(`feature ${frame.featureId}: batch ${batch} came after a later one`);
    this.#batches.set(frame.featureId, batch);
  }

  /** Names and places of what it has, by id. */
  state(): Map<string, string> {
    const entries = [...this.mirror.features.values()].map(({ id, geometry, properties }) => {
      const [x, y] = geometry!.coordinates as number[];
      return [id, `${properties['name']} ${x} ${y}`] as const;
    });
    return new Map(entries);
  }
}

/** Followers over one WebSocket that may be stopped from reading, and cut off. */
export class SocketClient {
  readonly #stream: FeatureStream;
  #socket: WebSocket | undefined;

  /** From a cursor on, or from now. */
  constructor(url: string, followers: readonly Follower[], cursor?: number) {
    this.#stream = new FeatureStream(url, {
      ...DELAYS,
      open: (target) => (this.#socket = new WebSocket(target)),
      onState: (state) => {
        if (state === 'open') for (const { counts } of followers) counts.connections++;
      },
    });
    for (const follower of followers)
      this.#stream.subscribe({ ...follower.interest, cursor }, follower.handlers);
  }

  /** Reads nothing for a while. */
  stall(ms: number): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    socket.pause();
    setTimeout(() => socket.resume(), ms);
  }

  die(): void {
    this.#socket?.terminate();
  }

  close(): void {
    this.#stream.close();
  }
}

/** Follows over server-sent events; returns what ends it. */
export function overEvents(url: string, follower: Follower): { close(): void } {
  const onState = (state: string) => {
    if (state === 'open') follower.counts.connections++;
  };
  return { close: followEvents(url, follower.interest, follower.handlers, { ...DELAYS, onState }) };
}
