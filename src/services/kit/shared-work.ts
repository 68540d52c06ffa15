/** Returns a function that starts `work`, or returns the result of the earlier call if that has not ended. */
export function shareWork<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}
