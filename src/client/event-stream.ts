import { Backoff, type Delays } from './backoff.js';
import type { ErrorFrame, Interest, ServerFrame } from './frames.js';
import { SubscriptionProgress } from './progress.js';
import type { StreamState, SubscriptionHandlers } from './stream.js';

export interface FollowOptions extends Delays {
  /** Sent with each request: an API key, say. */
  headers?: Record<string, string>;
  onState?(state: StreamState): void;
}

/**
 * One subscription over server-sent events. It uses `fetch`, so it needs no WebSocket and may send headers. It
 * reconnects and resumes like `FeatureStream`. Returns a function that ends it.
 */
export function followEvents(
  url: string | URL,
  interest: Interest,
  handlers: SubscriptionHandlers,
  options: FollowOptions = {},
): () => void {
  const stop = new AbortController();
  void new Follower(url, interest, handlers, options, stop).run();
  return () => stop.abort();
}

class Follower {
  readonly #progress: SubscriptionProgress;
  readonly #backoff: Backoff;

  constructor(
    private readonly url: string | URL,
    private readonly interest: Interest,
    private readonly handlers: SubscriptionHandlers,
    private readonly options: FollowOptions,
    private readonly stop: AbortController,
  ) {
    this.#progress = new SubscriptionProgress(interest.mode ?? 'delta', interest.cursor);
    this.#backoff = new Backoff(options);
  }

  async run(): Promise<void> {
    const { stop, options } = this;
    while (!stop.signal.aborted) {
      options.onState?.('connecting');
      await this.#attempt().catch(() => undefined);
      if (stop.signal.aborted) break;
      options.onState?.('waiting');
      await new Promise((resolve) => setTimeout(resolve, this.#backoff.next()));
    }
    options.onState?.('closed');
  }

  async #attempt(): Promise<void> {
    const headers = { ...this.options.headers, accept: 'text/event-stream' };
    const connection = new AbortController();
    const cut = () => connection.abort();
    this.stop.signal.addEventListener('abort', cut, { once: true });
    try {
      const response = await fetch(this.#target(), { headers, signal: connection.signal });
      if (response.status >= 400 && response.status < 500 && response.status !== 429)
        return await this.#refused(response);
      if (!response.ok || !response.body) return;
      this.#backoff.reset();
      this.options.onState?.('open');
      for await (const text of listFrames(response.body)) if (!this.#receive(JSON.parse(text))) return;
    } finally {
      this.stop.signal.removeEventListener('abort', cut);
      cut();
    }
  }

  #target(): URL {
    const target = new URL(this.url);
    const { filterLang, ...members } = this.interest;
    this.#progress.request();
    const query = { ...members, 'filter-lang': filterLang, cursor: this.#progress.resume };
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      const json = typeof value === 'object' && !Array.isArray(value);
      target.searchParams.set(name, json ? JSON.stringify(value) : String(value));
    }
    return target;
  }

  async #refused(response: Response): Promise<void> {
    const message = await response.text();
    this.stop.abort();
    const error: ErrorFrame = { type: 'error', code: String(response.status), message };
    this.handlers.onError?.(error);
  }

  /** False when the connection is of no use any more. */
  #receive(frame: ServerFrame): boolean {
    const { handlers } = this;
    switch (frame.type) {
      case 'status':
        if (frame.status === 'subscribed') this.#progress.begun(frame);
        if (frame.status !== 'unsubscribed') return true;
        this.stop.abort();
        handlers.onEnd?.();
        return false;
      case 'error':
        return true;
      case 'heartbeat':
        this.#progress.passed(frame.cursor);
        return true;
    }
    const verdict = this.#progress.take(frame);
    if (verdict === 'lost') return false;
    if (verdict === 'duplicate') handlers.onDuplicate?.(frame);
    else {
      if (frame.type === 'gap') handlers.onGap?.(frame);
      handlers.onFrame(frame);
    }
    return true;
  }
}

/** The data of server-sent events (HTML, 9.2.6); the server writes each in one line. */
async function* listFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6);
  }
}
