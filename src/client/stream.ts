import { Backoff, type Delays } from './backoff.js';
import type { DataFrame, ErrorFrame, Gap, Interest, ServerFrame, StatusFrame } from './frames.js';
import { SubscriptionProgress } from './progress.js';

/** The parts of the browser WebSocket API in use. `ws` implements them too. */
export interface SocketLike {
  onopen: unknown;
  onmessage: unknown;
  onclose: unknown;
  onerror: unknown;
  send(data: string): void;
  close(): void;
}

/** `waiting`: the connection broke and will be tried again. `closed`: by `close`, for ever. */
export type StreamState = 'connecting' | 'open' | 'waiting' | 'closed';

export interface StreamOptions extends Delays {
  /**
   * Opens a socket; by default the built-in one. Node.js 20 has none: pass `(url) => new WebSocket(url)` from `ws`.
   */
  open?(url: string): SocketLike;
  /** Shown to operators of the server. */
  clientLabel?: string;
  /** Called when the connection opens or breaks. */
  onState?(state: StreamState): void;
  /** Milliseconds without any frame after which the connection counts as lost; 75,000 by default. */
  silenceMs?: number;
}

export interface SubscriptionHandlers {
  /** Frames of the subscription, in order, each once. */
  onFrame(frame: DataFrame): void;
  /** Changes may be missing. With `snapshot-then-delta`, the server sends a new snapshot automatically. */
  onGap?(gap: Gap): void;
  /** A repeated change was ignored. */
  onDuplicate?(frame: DataFrame): void;
  /** The server refused the subscription; it has ended. */
  onError?(error: ErrorFrame): void;
  /** The snapshot of a subscription of mode `snapshot` is over. */
  onEnd?(): void;
}

export interface Subscription {
  readonly id: string;
  /** Cursor from which the subscription would resume. */
  readonly cursor: number | undefined;
  unsubscribe(): void;
}

interface ActiveSubscription extends Subscription {
  readonly interest: Interest;
  readonly handlers: SubscriptionHandlers;
  readonly progress: SubscriptionProgress;
}

/**
 * A connection to the feature stream that reconnects after each failure. Every subscription then resumes after its
 * last received change, or starts with a new snapshot if that is impossible.
 */
export class FeatureStream {
  readonly #url: string;
  readonly #options: StreamOptions;
  readonly #backoff: Backoff;
  readonly #subscriptions = new Map<string, ActiveSubscription>();
  #socket: SocketLike | undefined;
  #state: StreamState = 'connecting';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;
  #heard = 0;
  #numbers = 0;

  /** `url` is that of `/api/v1/streaming/features`, with http or ws. */
  constructor(url: string | URL, options: StreamOptions = {}) {
    const target = new URL(url);
    target.protocol = target.protocol.replace('http', 'ws');
    // Subscriptions select what is sent. For clients without a key, the server also requires a selection when the
    // connection opens.
    if (!target.searchParams.has('layers') && !target.searchParams.has('serviceId')) {
      target.searchParams.set('serviceId', 'default');
      target.searchParams.set('subscribe', 'false');
    }
    if (options.clientLabel) target.searchParams.set('clientLabel', options.clientLabel);
    this.#url = target.href;
    this.#options = options;
    this.#backoff = new Backoff(options);
    this.#connect();
  }

  get state(): StreamState {
    return this.#state;
  }

  subscribe(interest: Interest, handlers: SubscriptionHandlers): Subscription {
    const id = `s${++this.#numbers}`;
    const progress = new SubscriptionProgress(interest.mode ?? 'delta', interest.cursor);
    const followed: ActiveSubscription = {
      id,
      interest,
      handlers,
      progress,
      get cursor() {
        return progress.resume;
      },
      unsubscribe: () => this.#unsubscribe(id),
    };
    this.#subscriptions.set(id, followed);
    if (this.#state === 'open') this.#ask(followed);
    return followed;
  }

  /** Ends the connection and everything that waits. */
  close(): void {
    this.#abandon();
    this.#subscriptions.clear();
    this.#become('closed');
  }

  #become(state: StreamState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#options.onState?.(state);
  }

  #connect(): void {
    this.#become('connecting');
    const socket = (this.#options.open ?? platformSocket)(this.#url);
    this.#socket = socket;
    const onLoss = () => {
      if (this.#socket === socket) this.#reconnect();
    };
    socket.onclose = onLoss;
    socket.onerror = onLoss;
    socket.onmessage = ({ data }: { data: unknown }) => {
      if (this.#socket === socket) this.#receive(JSON.parse(String(data)));
    };
    this.#heard = Date.now();
    const { silenceMs = 75_000 } = this.#options;
    this.#watch = setInterval(() => {
      if (Date.now() - this.#heard > silenceMs) onLoss();
    }, silenceMs / 5);
  }

  #reconnect(): void {
    this.#abandon();
    this.#become('waiting');
    this.#timer = setTimeout(() => this.#connect(), this.#backoff.next());
  }

  #abandon(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }

  #receive(frame: ServerFrame): void {
    this.#heard = Date.now();
    switch (frame.type) {
      case 'status':
        return this.#status(frame);
      case 'error':
        return this.#refused(frame);
      case 'heartbeat':
        for (const { progress } of this.#subscriptions.values()) progress.passed(frame.cursor);
        return;
      default:
        return this.#deliver(frame);
    }
  }

  #status(frame: StatusFrame): void {
    if (frame.status === 'connected') {
      if (this.#subscriptions.size === 0) this.#backoff.reset();
      this.#become('open');
      for (const followed of this.#subscriptions.values()) this.#ask(followed);
    }
    const followed = this.#subscriptions.get(frame.subscriptionId ?? '');
    if (frame.status === 'subscribed') {
      this.#backoff.reset();
      followed?.progress.begun(frame);
    }
    if (frame.status === 'unsubscribed' && followed) {
      this.#subscriptions.delete(followed.id);
      followed.handlers.onEnd?.();
    }
  }

  #refused(error: ErrorFrame): void {
    const followed = this.#subscriptions.get(error.subscriptionId ?? '');
    if (!followed) return;
    this.#subscriptions.delete(followed.id);
    followed.handlers.onError?.(error);
  }

  #deliver(frame: DataFrame): void {
    const followed = this.#subscriptions.get(frame.subscriptionId);
    if (!followed) return;
    const verdict = followed.progress.take(frame);
    if (verdict === 'lost') return this.#reconnect();
    if (verdict === 'duplicate') return followed.handlers.onDuplicate?.(frame);
    if (frame.type === 'gap') followed.handlers.onGap?.(frame);
    followed.handlers.onFrame(frame);
  }

  #ask({ id, interest, progress }: ActiveSubscription): void {
    progress.request();
    this.#send({ ...interest, type: 'subscribe', subscriptionId: id, cursor: progress.resume });
  }

  #unsubscribe(id: string): void {
    if (this.#subscriptions.delete(id) && this.#state === 'open')
      this.#send({ type: 'unsubscribe', subscriptionId: id });
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }
}

function platformSocket(url: string): SocketLike {
  const { WebSocket } = globalThis as { WebSocket?: new (url: string) => SocketLike };
  if (!WebSocket) throw new Error('This platform has no WebSocket: pass one as `open`.');
  return new WebSocket(url);
}
