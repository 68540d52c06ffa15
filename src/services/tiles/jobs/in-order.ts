interface Slot<R> {
  result: Promise<R>;
  settled: boolean;
}

/** Results per lane that may wait for an earlier one. */
const AHEAD = 8;

/**
 * Processes the items of a source, a few at a time, and yields the results in the order of the source. The number of
 * results that wait for an earlier one is limited. When it ends or rejects, all work has ended.
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
    // Failures are handled in the order of the results.
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
