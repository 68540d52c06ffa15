/** Work that waits for a turn of the event loop of its own. */
const waiting: (() => void)[] = [];

/**
 * Resolves in a later turn of the event loop, in which nobody else's `turn` resolves: what is costly but short follows
 * one by one, and others are served between.
 */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(next);
  });
}

function next(): void {
  waiting.shift()!();
  if (waiting.length > 0) setImmediate(next);
}
