/** The nearest of many, by windows that are read to a bound. */

/** Metres within which is looked first; then four times as far, and so on. */
const FIRST = 250;
/** Metres at which a window that has too many is divided no more. */
const LEAST = 0.01;

interface Window<T> {
  readonly nearest: T | undefined;
  /** Not all that lies in the window was read. */
  readonly more: boolean;
}

/**
 * Looks within greater and greater distances until the window holds one that lies within its distance. In a window of
 * which not all was read a nearer one may be left: then the distance is halved towards the last one within which there is none.
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
