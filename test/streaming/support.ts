import { once } from 'node:events';
import { WebSocket } from 'ws';

/** A frame of the server. */
export type Frame = Record<string, unknown> & { type: string };

/** A WebSocket client of the feature stream that keeps what it receives. */
export class StreamClient {
  readonly frames: Frame[] = [];
  closed: { code: number; reason: string } | undefined;
  readonly #socket: WebSocket;
  #changed = () => {};

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#socket = new WebSocket(url.replace(/^http/, 'ws'), { headers });
    this.#socket.on('message', (data) => {
      this.frames.push(JSON.parse(String(data)));
      this.#changed();
    });
    this.#socket.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.#changed();
    });
  }

  async opened(): Promise<this> {
    await once(this.#socket, 'open');
    return this;
  }

  send(frame: unknown): void {
    this.#socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
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

  close(): void {
    this.#socket.close();
  }
}
