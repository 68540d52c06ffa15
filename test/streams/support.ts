import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Packr } from 'msgpackr';
import { WebSocket } from 'ws';

const packr = new Packr({ useRecords: false });

/** A frame of the server. */
export type Frame = Record<string, unknown> & { type: string };

/** Who has no key must say what it listens to: everything, in tests that do not care. */
function scoped(url: string): string {
  const target = new URL(url);
  const names = [...target.searchParams.keys()];
  if (!target.pathname.endsWith('/streaming/features') || names.some((name) => /layer|service/i.test(name)))
    return url;
  target.searchParams.set('serviceId', 'default');
  target.searchParams.set('subscribe', 'false');
  return target.href;
}

/** A WebSocket client of the feature stream that keeps what it receives. */
export class StreamClient {
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly #socket: WebSocket;
  #changed = () => {};

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#socket = new WebSocket(scoped(url).replace(/^http/, 'ws'), { headers });
    this.#socket.on('message', (data, isBinary) => {
      this.frames.push(isBinary ? packr.unpack(data as Buffer) : JSON.parse(String(data)));
      this.#changed();
    });
    this.#socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.#changed();
    });
  }

  /** The answer to a request to become a WebSocket that is refused. */
  static refusal(
    url: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number | undefined; retryAfter: string | undefined }> {
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers });
    return new Promise((resolve, reject) => {
      socket.on('open', () => reject(new Error('it was opened')));
      socket.on('error', () => {});
      socket.on('unexpected-response', (_request, { statusCode, headers: got }) => {
        resolve({ status: statusCode, retryAfter: got['retry-after'] });
        socket.terminate();
      });
    });
  }

  async opened(): Promise<this> {
    await once(this.#socket, 'open');
    return this;
  }

  send(frame: unknown): void {
    this.#socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  sendBinary(frame: unknown): void {
    this.#socket.send(packr.pack(frame));
  }

  /** Subscribes and waits for the answer. */
  async subscribe(subscriptionId: string, members: Record<string, unknown>): Promise<Frame> {
    const from = this.frames.length;
    this.send({ type: 'subscribe', subscriptionId, ...members });
    return this.next(
      (f) => f.subscriptionId === subscriptionId && ['status', 'error'].includes(f.type),
      from,
    );
  }

  /** The first frame from a place on that fits. */
  async next(fits: (frame: Frame) => boolean, from = 0): Promise<Frame> {
    return (await this.until(() => this.frames.slice(from).find(fits)))!;
  }

  of(type: string): Frame[] {
    return this.frames.filter((frame) => frame.type === type);
  }

  /** Waits until `look` finds something, or fails after 20 seconds. */
  async until<T>(look: () => T): Promise<NonNullable<T>> {
    const late = Date.now() + 20_000;
    for (;;) {
      const found = look();
      if (found !== undefined && found !== null && found !== false) return found as NonNullable<T>;
      if (Date.now() > late)
        throw new Error(`nothing came; last frames: ${JSON.stringify(this.frames.slice(-5))}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 200);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Stops to read, as a client does that hangs. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.close();
  }
}

/** One server-sent event. */
export interface SentEvent {
  event: string | undefined;
  id: string | undefined;
  data: Frame;
}

/** A reader of server-sent events over a bare connection, that can stop to read. */
export class EventReader {
  readonly events: SentEvent[] = [];
  head = '';
  ended = false;
  readonly #socket: Socket;
  #body = '';

  constructor(url: string, headers: Record<string, string> = {}) {
    const { hostname, port, pathname, search } = new URL(url);
    this.#socket = connect(Number(port), hostname);
    this.#socket.setEncoding('utf8');
    const lines = { host: hostname, accept: 'text/event-stream', ...headers };
    const block = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${block.join('')}\r\n`);
    this.#socket.on('data', (text) => this.#take(String(text)));
    this.#socket.on('error', () => {});
    this.#socket.on('close', () => {
      this.ended = true;
    });
  }

  /** Chunks of the transfer coding are joined as far as they are whole. */
  #take(text: string): void {
    this.#body += text;
    if (!this.head) {
      const end = this.#body.indexOf('\r\n\r\n');
      if (end < 0) return;
      this.head = this.#body.slice(0, end);
      this.#body = this.#body.slice(end + 4);
    }
    let end: number;
    while ((end = this.#body.indexOf('\n\n')) >= 0) {
      const block = this.#body.slice(0, end).replace(/(^|\r\n)[0-9a-f]+\r\n/g, '');
      this.#body = this.#body.slice(end + 2);
      const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      this.events.push({ event: line('event'), id: line('id'), data: JSON.parse(line('data')!) });
    }
    if (/(^|\r\n)0\r\n\r\n$/.test(this.#body)) this.ended = true;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  of(type: string): SentEvent[] {
    return this.events.filter(({ event }) => event === type);
  }

  async until(look: () => unknown): Promise<void> {
    await until(look, () => JSON.stringify([this.head, this.events.slice(-5)]));
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Waits until `look` finds something, or fails after 20 seconds. */
export async function until(look: () => unknown, seen = () => ''): Promise<void> {
  const late = Date.now() + 20_000;
  while (!look()) {
    if (Date.now() > late) throw new Error(`nothing came; ${seen()}`);
    await sleep(20);
  }
}
