import { startMap } from './start.js';

const place = document.querySelector<HTMLElement>('[data-map]');
const fold = place?.closest<HTMLDetailsElement>('[data-map-fold]');
/** Windows in which a folded map is open from the start. */
const WIDE = '(min-width: 48rem)';

/** The map of the page, for all scripts of it, once it is unfolded; undefined where there is none. */
export const pageMap = place ? waitForFold(place).then(() => startMap(place)) : Promise.resolve(undefined);

/** Opens the part of the page that contains the map. */
export function unfoldMap(): void {
  if (fold) fold.open = true;
}

async function waitForFold(map: HTMLElement): Promise<void> {
  if (!fold) return;
  if (matchMedia(WIDE).matches) fold.open = true;
  if (fold.open) return;
  map.dataset.mapState = 'folded';
  await new Promise((resolve) => fold.addEventListener('toggle', resolve, { once: true }));
  map.dataset.mapState = 'loading';
}
