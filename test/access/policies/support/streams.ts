import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Audience } from './oracle.js';

const PATH = '/api/v1/streaming/features';

/** All that a client of a stream was told, as text. */
export interface Told {
  readonly audience: Audience;
  /** WebSocket or SSE. */
  readonly by: string;
  text(): string;
  readonly isClosed: boolean;
  close(): void;
}

export interface StreamOptions {
  readonly url: string;
  readonly audience: Audience;
  readonly key: string | undefined;
  readonly query: string;
}

/** Resolves once the socket is open. */
export async function openSocket({ url, audience, key, query }: StreamOptions): Promise<Told> {
  const headers = key === undefined ? {} : { 'x-api-key': key };
  const socket = new WebSocket(`${url.replace('http', 'ws')}${PATH}?${query}`, { headers });
  let text = '';
  let isClosed = false;
  socket.on('message', (data) => {
    text += `${String(data)}\n`;
  });
  socket.on('close', () => {
    isClosed = true;
  });
  await once(socket, 'open');
  return {
    audience,
    by: 'WebSocket',
    text: () => text,
    get isClosed() {
      return isClosed;
    },
    close: () => socket.close(),
  };
}

/** Resolves once the answer begins. */
export async function openEvents({ url, audience, key, query }: StreamOptions): Promise<Told> {
  const controller = new AbortController();
  const response = await fetch(`${url}${PATH}?${query}`, {
    headers: { accept: 'text/event-stream', ...(key === undefined ? {} : { 'x-api-key': key }) },
    signal: controller.signal,
  });
  if (response.status !== 200) throw new Error(`SSE: ${response.status} ${await response.text()}`);
  let text = '';
  let isClosed = false;
  const decoder = new TextDecoder();
  const reading = async () => {
    for await (const part of response.body!) text += decoder.decode(part as Uint8Array, { stream: true });
  };
  reading()
    .catch(() => undefined)
    .finally(() => {
      isClosed = true;
    });
  return {
    audience,
    by: 'SSE',
    text: () => text,
    get isClosed() {
      return isClosed;
    },
    close: () => controller.abort(),
  };
}

const LONGEST_MS = 60_000;

/** Waits for something that will be; what it is stands in the error when it is not. */
export async function until(what: string, isThere: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + LONGEST_MS;
  while (!(await isThere())) {
    if (Date.now() > end) throw new Error(`there never was ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
