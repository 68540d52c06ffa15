import type { Map as MapLibreMap } from 'maplibre-gl';

const CLASS = 'map-print';

/**
 * Puts a picture of the map over it before the page is printed: what a graphics card drew is gone by the time that the
 * printer looks.
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
