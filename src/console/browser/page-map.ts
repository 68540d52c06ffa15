import { startMap } from './start.js';

const place = document.querySelector<HTMLElement>('[data-map]');

/** The map of the page, for all scripts of it; undefined where there is none. */
export const pageMap = place ? startMap(place) : Promise.resolve(undefined);
