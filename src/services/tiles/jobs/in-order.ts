interface Slot<R> {
  result: Promise<R>;
  settled: boolean;
}

/** Results per lane that may wait for an earlier one. */
const AHEAD = 8;

/**
 * Works on what a source gives, a few at a time, and gives the results in the order of the source. What waits for an
 * earlier result is bounded. All work has ended when it ends or rejects.
 */
export async function* mapInOrder<T, R>(
  source: AsyncIterator<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const slots: Slot<R>[] = [];
  let running = 0;
  let wake = () => {};
  const begin = (item: T) => {
    running++;
    const slot: Slot<R> = { result: work(item), settled: false };
    const settle = () => {
      running--;
      slot.settled = true;
      wake();
    };
    // Failures are met when their turn comes.
    slot.result.then(settle, settle);
    slots.push(slot);
  };
  try {
    for (let more = true; more || slots.length > 0; ) {
      if (slots[0]?.settled) {
        yield await slots.shift()!.result;
      } else if (more && running < concurrency && slots.length < concurrency * AHEAD) {
        const next = await source.next();
        if (next.done) more = false;
        else begin(next.value);
      } else {
        await new Promise<void>((resolve) => (wake = resolve));
      }
    }
  } finally {
    await Promise.allSettled(slots.map(({ result }) => result));
  }
}
