import { WebSocket } from 'ws';
import { type DataFrame, FeatureMirror, FeatureStream, type Gap } from '../../src/client/index.js';
import type { FaultyServer } from './server.js';

/** A server that says nothing for longer has paused: heartbeats come each 30 s. */
const SILENCE_MS = 40_000;

/**
 * Follows the changes of a layer over a WebSocket. When the connection breaks it goes on at another server, with its
 * cursor.
 */
export class Subscriber {
  readonly mirror = new FeatureMirror();
  readonly gaps: Gap[] = [];
  readonly counts = { events: 0, again: 0, connections: 0 };
  readonly #events = new Map<string, number>();
  readonly #stream: FeatureStream;
  #turn: number;
  #socket: WebSocket | undefined;

  constructor(
    readonly servers: readonly FaultyServer[],
    first: number,
    layer: number,
  ) {
    this.#turn = first;
    this.#stream = new FeatureStream(`${servers[0]!.url}/api/v1/streaming/features`, {
      firstMs: 50,
      longestMs: 500,
      silenceMs: SILENCE_MS,
      open: (url) => this.#open(url),
      onState: (state) => void (state === 'open' && this.counts.connections++),
    });
    this.#stream.subscribe(
      { layers: [layer] },
      { onFrame: (frame) => this.#take(frame), onGap: (gap) => void this.gaps.push(gap) },
    );
  }

  /** How often each event was told, by the name and version of its feature and the operation. */
  get events(): ReadonlyMap<string, number> {
    return this.#events;
  }

  #open(url: string): WebSocket {
    const here = new URL(url);
    here.host = new URL(this.servers[this.#turn++ % this.servers.length]!.url).host;
    this.#socket = new WebSocket(here, { handshakeTimeout: 2000 });
    return this.#socket;
  }

  /** Leaves the server, as a client whose network breaks. */
  leave(): void {
    this.#socket?.terminate();
  }

  /** The next connection is to this server. */
  goTo(server: FaultyServer): void {
    this.#turn = this.servers.indexOf(server);
    this.leave();
  }

  #take(frame: DataFrame): void {
    this.mirror.apply(frame);
    if (frame.type !== 'feature-change') return;
    this.counts.events++;
    const { name, version } = frame.attributes as { name: string; version: number };
    const event = `${frame.operation} ${name} ${version}`;
    const times = this.#events.get(event) ?? 0;
    if (times > 0) this.counts.again++;
    this.#events.set(event, times + 1);
  }

  /** Versions of the features that it has, by name. */
  state(): Map<string, number> {
    return new Map(
      [...this.mirror.features.values()].map(({ properties }) => [
        String(properties['name']),
        Number(properties['version']),
      ]),
    );
  }

  close(): void {
    this.#stream.close();
  }
}
