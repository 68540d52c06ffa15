import type { Socket, SocketEvents } from '../../core/http/operation.js';
import { LIMITS } from '../../core/kit/limits.js';
import type { HttpExchange } from './exchange.js';
import {
  type HttpRequest,
  type HttpResponse,
  SHARED_COMPRESSOR,
  type TemplatedApp,
  type us_socket_context_t,
  type WebSocket,
} from './uws.js';

/** Close code (RFC 6455, 7.4.1). */
const INTERNAL_ERROR = 1011;

/** Properties of a request that becomes a WebSocket. */
export interface Upgrade {
  readonly key: string;
  readonly protocol: string;
  readonly extensions: string;
  readonly context: us_socket_context_t;
}

interface Data {
  open(socket: Socket): SocketEvents;
  socket: UwsSocket | undefined;
  events: SocketEvents | undefined;
}

/** Beyond this many unread bytes the library drops what is sent; senders stop long before. */
const MAX_BACKPRESSURE = 16 * 1024 * 1024;
/** Seconds without a sign of the client, pings included, until its connection counts as lost. */
const IDLE_SECONDS = 120;

export interface SocketHandlers {
  /** Routes the request like any other, and accepts or refuses the upgrade. */
  serve(res: HttpResponse, req: HttpRequest, upgrade: Upgrade): void;
  /** Apps whose sockets receive published messages: this app and the other apps of the server. */
  readonly apps: ReadonlySet<TemplatedApp>;
  /** Called for errors while a frame is processed; the connection is then closed. */
  fault(error: unknown): void;
}

/** Lets a path be upgraded. */
export function acceptSockets(app: TemplatedApp, path: string, { serve, fault, apps }: SocketHandlers): void {
  app.ws<Data>(path, {
    compression: SHARED_COMPRESSOR,
    // More than the accepted size, so that a client receives the reason of the rejection.
    maxPayloadLength: 4 * LIMITS.controlFrameBytes,
    maxBackpressure: MAX_BACKPRESSURE,
    // Publishing has no result per client, so a client that misses a frame is disconnected.
    closeOnBackpressureLimit: true,
    idleTimeout: IDLE_SECONDS,
    sendPingsAutomatically: true,
    upgrade(res, req, context) {
      serve(res, req, {
        key: req.getHeader('sec-websocket-key'),
        protocol: req.getHeader('sec-websocket-protocol'),
        extensions: req.getHeader('sec-websocket-extensions'),
        context,
      });
    },
    open(ws) {
      const data = ws.getUserData();
      data.socket = new UwsSocket(ws, apps);
      data.events = data.open(data.socket);
    },
    message(ws, message, isBinary) {
      const { events, socket } = ws.getUserData();
      try {
        // The bytes are the library's own, and only for this call.
        events?.message(new Uint8Array(message.slice(0)), isBinary);
      } catch (error) {
        fault(error);
        socket?.close(INTERNAL_ERROR, 'internal error');
      }
    },
    drain(ws) {
      if (ws.getBufferedAmount() === 0) ws.getUserData().events?.drained();
    },
    close(ws) {
      const { socket, events } = ws.getUserData();
      socket?.gone();
      events?.closed();
    },
  });
}

/** Responds with 101. After that, the connection is a WebSocket. */
export function upgrade(x: HttpExchange, request: Upgrade, open: (socket: Socket) => SocketEvents): void {
  const data: Data = { open, socket: undefined, events: undefined };
  x.responded = true;
  x.res.cork(() => x.res.upgrade(data, request.key, request.protocol, request.extensions, request.context));
}

/** Bytes of a frame that surely fits into the cork buffer of the library, with its header. */
const SMALL_FRAME = 16_000;

/** A character of text takes up to three bytes. */
function isLarge(frame: string | Uint8Array): boolean {
  return typeof frame === 'string'
    ? 3 * frame.length > SMALL_FRAME && Buffer.byteLength(frame) > SMALL_FRAME
    : frame.byteLength > SMALL_FRAME;
}

const DROPPED = 2;
const SENT = 1;

class UwsSocket implements Socket {
  readonly #ws: WebSocket<Data>;
  #open = true;

  constructor(
    ws: WebSocket<Data>,
    private readonly apps: ReadonlySet<TemplatedApp>,
  ) {
    this.#ws = ws;
  }

  send(frame: string | Uint8Array, compress: boolean): boolean {
    if (!this.#open) return true;
    const outcome = isLarge(frame) ? this.#sendLarge(frame, compress) : this.#put(frame, compress);
    if (outcome === DROPPED) this.close(1009, 'too much was not read');
    return outcome === SENT;
  }

  /**
   * The library sends a frame that does not fit into its empty cork buffer without buffering. If the kernel accepts
   * only a part of it, the older build loses four bytes and reports that all bytes were sent, and the newer build
   * does not continue after the client has read. A ping before the frame puts some bytes into the buffer.
   */
  #sendLarge(frame: string | Uint8Array, compress: boolean): number {
    let outcome = SENT;
    this.#ws.cork(() => {
      this.#ws.ping();
      outcome = this.#put(frame, compress);
    });
    return outcome;
  }

  #put(frame: string | Uint8Array, compress: boolean): number {
    return this.#ws.send(frame, typeof frame !== 'string', compress);
  }

  together(send: () => void): void {
    if (this.#open) this.#ws.cork(send);
  }

  join(topic: string): void {
    if (this.#open) this.#ws.subscribe(topic);
  }

  leave(topic: string): void {
    if (this.#open) this.#ws.unsubscribe(topic);
  }

  publish(topic: string, frame: string | Uint8Array): boolean {
    if (isLarge(frame)) return false;
    for (const app of this.apps) app.publish(topic, frame, typeof frame !== 'string');
    return true;
  }

  get unread(): number {
    return this.#open ? this.#ws.getBufferedAmount() : 0;
  }

  close(code: number, reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#ws.end(code, reason);
  }

  /** The library's object must not be touched any more. */
  gone(): void {
    this.#open = false;
  }
}
