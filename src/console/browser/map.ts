import { startMap } from './start.js';

const place = document.querySelector<HTMLElement>('[data-map]');
if (place) void startMap(place);
