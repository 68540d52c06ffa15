import { jsonFrame } from '../../services/streams/frames.js';
import type { CloseReason, Transport } from '../../services/streams/session.js';

/** Frames that may wait to be written before the client counts as slow. */
const MAX_WAITING = 32;

/** Source of the frames of one client. */
interface FrameSource {
  /** The client has read what was sent. */
  drained(): void;
  close(reason: 'ClientClosed'): void;
}

/** Frames as server-sent events (HTML, 9.2): the name is the frame's type, the id what a client may resume after. */
export class EventStream implements Transport, AsyncIterable<Uint8Array> {
  readonly name = 'SSE';
  #session: FrameSource | undefined;
  readonly #open: (transport: Transport) => FrameSource | undefined;
  #waiting: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  /** `open` creates the session when the body is read, which never happens for HEAD. */
  constructor(signal: AbortSignal, open: (transport: Transport) => FrameSource | undefined) {
    this.#open = open;
    signal.addEventListener('abort', () => this.#session?.close('ClientClosed'), { once: true });
  }

  send(frame: string, cursor: number | undefined): boolean {
    const type = /^\{"type":"([\w-]+)"/.exec(frame)![1];
    const id = cursor === undefined ? '' : `id: ${cursor}\n`;
    this.#waiting.push(Buffer.from(`event: ${type}\n${id}data: ${frame}\n\n`));
    this.#wake?.();
    return this.#waiting.length < MAX_WAITING;
  }

  together(send: () => void): void {
    send();
  }

  /** Server-sent events have no close codes: the last event contains the reason. */
  close(reason: CloseReason): void {
    if (reason !== 'ClientClosed')
      this.send(jsonFrame('error', { code: 'session-closed', message: reason }), undefined);
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    this.#session = this.#open(this);
    try {
      for (;;) {
        const chunks = this.#waiting.splice(0);
        if (chunks.length > 0) {
          yield Buffer.concat(chunks);
          this.#session?.drained();
        } else if (this.#ended || !this.#session) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.#session?.close('ClientClosed');
    }
  }
}
