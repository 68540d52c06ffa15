/** The nearest of many, by windows that are read to a bound. */

/** Metres within which is looked first; then four times as far, and so on. */
const FIRST = 250;
/** Metres at which a window that has too many is divided no more. */
const LEAST = 0.01;

interface Window<T> {
  readonly nearest: T | undefined;
  /** Whether only a part of the window was read. */
  readonly more: boolean;
}

/**
 * Searches with increasing distances until the window contains a result within its distance. If only a part of the
 * window was read, a nearer result can be missing. Then the distance is halved towards the last one without a result.
 */
export async function nearestWithin<T extends { readonly metres?: number }>(
  distance: number,
  look: (reach: number) => Promise<Window<T>>,
): Promise<T | undefined> {
  let none = 0;
  let full = Number.POSITIVE_INFINITY;
  let best: T | undefined;
  for (let reach = Math.min(FIRST, distance); ; ) {
    const { nearest, more } = await look(reach);
    if (nearest && nearest.metres! <= Math.min(distance, best?.metres ?? distance)) best = nearest;
    if (!more && nearest && nearest.metres! <= reach) return nearest;
    if (more) full = Math.min(reach, best?.metres ?? reach);
    else none = reach;
    if (none >= distance || full - none <= LEAST) return best;
    reach = full === Number.POSITIVE_INFINITY ? Math.min(reach * 4, distance) : (none + full) / 2;
  }
}
