import { COUNTED, SAMPLES, type TileSample } from './sample.js';

/** Part of the worker of the map library: reads tiles, and sends the numbers in their headers to the page. */

interface TileRequest {
  readonly url: string;
  readonly headers?: HeadersInit;
  readonly credentials?: RequestCredentials;
  readonly cache?: RequestCache;
}

interface TileReply {
  readonly data: ArrayBuffer;
  readonly cacheControl: string | null;
  readonly expires: string | null;
}

/** Function of the library's worker. */
declare const self: {
  addProtocol(
    name: string,
    load: (request: TileRequest, controller: AbortController) => Promise<TileReply>,
  ): void;
};

const samples = new BroadcastChannel(SAMPLES);

self.addProtocol(COUNTED, async ({ url, headers, credentials, cache }, { signal }) => {
  const target = url.slice(COUNTED.length + 3);
  const options = {
    ...(headers && { headers }),
    ...(credentials && { credentials }),
    ...(cache && { cache }),
  };
  const response = await fetch(target, { ...options, signal });
  if (!response.ok) throw new Error(`${target}: ${response.status}`);
  const dropped = Number(response.headers.get('graticule-dropped-features') ?? 0);
  const shown = Number(response.headers.get('graticule-shown-features') ?? 0);
  samples.postMessage({ url: target, shown, dropped } satisfies TileSample);
  return {
    data: await response.arrayBuffer(),
    cacheControl: response.headers.get('cache-control'),
    expires: response.headers.get('expires'),
  };
});
