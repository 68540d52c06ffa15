import type { Map as MapLibreMap } from 'maplibre-gl';
import type { LayerIds } from './layers.js';

/** Brings the legend's checkboxes to life. */
export function connectSwitcher(map: MapLibreMap, ids: LayerIds): void {
  for (const box of document.querySelectorAll<HTMLInputElement>('input[data-layer]')) {
    const show = () => {
      for (const id of ids.get(box.dataset.layer ?? '') ?? []) {
        map.setLayoutProperty(id, 'visibility', box.checked ? 'visible' : 'none');
      }
    };
    box.hidden = false;
    box.addEventListener('change', show);
    // A browser keeps checkboxes over a reload.
    show();
  }
}
