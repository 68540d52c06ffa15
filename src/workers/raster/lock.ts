const last = new Map<string, Promise<void>>();

/** Runs what has the same key one after the other. */
export async function oneAtATime<T>(key: string, run: () => Promise<T>): Promise<T> {
  const before = last.get(key) ?? Promise.resolve();
  const running = before.then(run);
  const ended = running.then(
    () => {},
    () => {},
  );
  last.set(key, ended);
  try {
    return await running;
  } finally {
    if (last.get(key) === ended) last.delete(key);
  }
}
