/**
 * Processes items with limited concurrency, and returns the results in the order of the items. Rejects with the first
 * failure.
 */
export async function mapInLanes<T, R>(
  items: readonly T[],
  lanes: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i]!);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
