import { pageMap } from './page-map.js';
import { loadPart } from './part.js';

/** Values of a raster at a place that is pressed on the map, or typed. */

const place = document.querySelector<HTMLElement>('[data-position-place]');
const form = place?.querySelector('form');
if (place && form) connect(place, form);

function connect(place: HTMLElement, form: HTMLFormElement): void {
  const field = form.querySelector<HTMLInputElement>('[name="coords"]')!;
  const show = () => {
    const query = new URLSearchParams({ f: 'html', coords: field.value });
    void loadPart(place, `${form.getAttribute('action')}?${query}`, 'position');
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show();
  });
  void pageMap.then((map) =>
    map?.on('click', ({ lngLat }) => {
      const { lng, lat } = lngLat.wrap();
      field.value = `${lng.toFixed(5)} ${lat.toFixed(5)}`;
      show();
    }),
  );
}
