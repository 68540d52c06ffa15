/** Messages between an engine's main thread and its worker threads. */

import { Piscina } from 'piscina';
import type { CancellationFlag } from './cancellation.js';
import type { TaskResponse } from './failure.js';

export interface ThreadTask {
  task: string;
  input: unknown;
  flag: CancellationFlag;
  /** Correlation id of the request that it runs for. */
  request?: string;
}

/** Allows the bytes of a response to change threads without a copy if their memory can be transferred. */
export function moved(
  result: TaskResponse,
  movable: (value: unknown) => ArrayBuffer[] = movableBuffers,
): TaskResponse {
  const buffers = result.ok ? movable(result.value) : [];
  if (buffers.length === 0) return result;
  const transferable = { [Piscina.transferableSymbol]: buffers, [Piscina.valueSymbol]: result };
  return Piscina.move(transferable as never) as never;
}

/** Memory of all byte arrays in a value that can change its owner. */
export function movableBuffers(value: unknown, into: ArrayBuffer[] = []): ArrayBuffer[] {
  if (value instanceof Uint8Array) {
    // Memory that a native library owns, or that is shared with other arrays, is copied instead.
    const whole = value.byteLength === value.buffer.byteLength && !Buffer.isBuffer(value);
    if (whole && value.buffer instanceof ArrayBuffer && value.byteLength > 0) into.push(value.buffer);
  } else if (value !== null && typeof value === 'object') {
    for (const item of Object.values(value)) movableBuffers(item, into);
  }
  return into;
}
