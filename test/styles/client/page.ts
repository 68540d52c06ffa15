import * as maplibre from 'maplibre-gl';

/** Runs in the browser: draws one style with MapLibre, as its users do. */

maplibre.setWorkerUrl('/worker.js');

let map: maplibre.Map | undefined;

function draw(style: maplibre.StyleSpecification, center: [number, number], zoom: number): Promise<void> {
  map?.remove();
  map = new maplibre.Map({
    container: 'map',
    center,
    zoom,
    style,
    fadeDuration: 0,
    attributionControl: false,
    renderWorldCopies: false,
  });
  return new Promise((resolve, reject) => {
    map!.on('error', ({ error }) => reject(error));
    map!.once('idle', () => resolve());
  });
}

Object.assign(window, { draw });
