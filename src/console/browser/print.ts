import type { Map as MapLibreMap } from 'maplibre-gl';

const CLASS = 'map-print';

/**
 * Covers the map with an image of it before the page is printed, because the WebGL canvas is empty when the printer
 * reads it.
 */
export function connectPrinting(map: MapLibreMap, element: HTMLElement): void {
  const show = () => {
    const picture = document.createElement('img');
    picture.className = CLASS;
    picture.alt = '';
    // Drawn and read in one turn, before the browser clears what was drawn.
    map.redraw();
    picture.src = map.getCanvas().toDataURL();
    hide();
    element.append(picture);
  };
  const hide = () => element.querySelector(`.${CLASS}`)?.remove();
  addEventListener('beforeprint', show);
  addEventListener('afterprint', hide);
  map.once('remove', () => {
    removeEventListener('beforeprint', show);
    removeEventListener('afterprint', hide);
  });
}
