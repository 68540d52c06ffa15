import { HTTP_LIMITS } from '../../../core/http/limits.js';
import type { Backlog, ReplyTransfer } from '../backlog.js';
import { CLIENT_GONE, type HttpExchange } from '../exchange.js';
import type { Sent } from './reply.js';

export interface Parts {
  /** Bytes of all parts together. */
  length: number;
  status: number;
  /** Writes the head. */
  begin(): void;
  backlog: Backlog;
}

/**
 * Sends a body of known length part by part. The next part is requested after the client has read the previous one.
 */
export async function sendParts(
  x: HttpExchange,
  parts: AsyncIterable<Uint8Array>,
  { length, status, begin, backlog }: Parts,
  sent: Sent,
): Promise<void> {
  const { res } = x;
  x.responded = true;
  let bytes = 0;
  let bytesTaken = 0;
  let drained: (() => void) | undefined;
  res.onWritable((offset) => {
    bytesTaken = offset;
    drained?.();
    return true;
  });
  x.signal.addEventListener('abort', () => drained?.(), { once: true });
  res.cork(begin);
  try {
    for await (const part of parts) {
      const sending: ReplyTransfer = { bytes: 2 * HTTP_LIMITS.sendBuffer, cut: () => res.close() };
      // Bytes of a body of known length that the socket did not accept must be sent again.
      for (let at = 0; !x.aborted; at = bytesTaken - bytes) {
        const writable = new Promise<void>((resolve) => {
          drained = resolve;
        });
        let ok = true;
        res.cork(() => {
          ok = res.tryEnd(part.subarray(at), length)[0];
        });
        if (ok) break;
        backlog.add(sending);
        await writable;
        backlog.remove(sending);
        if (bytesTaken >= bytes + part.byteLength) break;
      }
      if (x.aborted) break;
      bytes += part.byteLength;
    }
    if (!x.aborted && bytes < length) throw new Error(`${length - bytes} bytes of the body are missing`);
    sent(x, x.aborted ? CLIENT_GONE : status, bytes);
  } catch (error) {
    if (x.aborted) return sent(x, CLIENT_GONE, bytes);
    // The header is already sent, so closing the connection is the only way to report the failure.
    res.close();
    sent(x, 500, bytes, error);
  }
}
