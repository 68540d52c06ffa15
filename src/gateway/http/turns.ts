/** Work that waits for a separate event-loop iteration. */
const waiting: (() => void)[] = [];

/**
 * Resolves in a later event-loop iteration, at most one caller per iteration, so that other work runs between
 * expensive steps.
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
