import type { Map as MapLibreMap } from 'maplibre-gl';
import type { MapData } from '../../core/catalog/page-data.js';
import type { DrawOptions } from './draw.js';
import { pageData } from './page.js';

/** Starts the map of a page; undefined if no map is possible. The library is a separate large file. */
export async function startMap(
  element: HTMLElement,
  options?: DrawOptions,
): Promise<MapLibreMap | undefined> {
  try {
    const data = pageData<MapData>('map-data');
    const { createPageMap } = await import('./draw.js');
    return await createPageMap(element, data, options);
  } catch (error) {
    showFailure(element, error);
    return undefined;
  }
}

/** Shows why there is no map, and the rendered image instead. The rest of the page is unchanged. */
function showFailure(element: HTMLElement, error: unknown): void {
  element.dataset.mapState = 'failed';
  const webgl = error instanceof Error && /webgl|gpu/i.test(`${error.name} ${error.message}`);
  const reason = webgl ? 'This browser does not support WebGL.' : 'The map could not be started.';
  const message = document.querySelector<HTMLElement>('.map-message');
  if (message) {
    message.textContent = `${reason} The rest of the page works without the map.`;
    message.hidden = false;
  }
  console.warn('no map:', error);
  element.replaceChildren();
  const { picture } = element.dataset;
  if (picture) element.append(renderedPicture(element, picture));
  else element.classList.add('map-absent');
}

function renderedPicture(element: HTMLElement, source: string): HTMLElement {
  const image = document.createElement('img');
  image.className = 'map-picture';
  image.alt = element.getAttribute('aria-label') ?? 'Map';
  image.addEventListener('error', () => element.classList.add('map-absent'), { once: true });
  image.src = source;
  return image;
}
