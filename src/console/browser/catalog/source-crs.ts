import type { FeatureCollection, Geometry } from 'geojson';
import type { GeoJSONSource, Map as MapLibreMap } from 'maplibre-gl';
import { createBoxRing, unwrapped } from '../../../core/geometry/box.js';
import { viewBounds } from '../bounds.js';
import { pageMap } from '../page-map.js';
import { sendJson } from '../request.js';

/** Search, preview and choice of the CRS of a source. */

type Box = [number, number, number, number];

interface Preview extends FeatureCollection<Geometry | null> {
  readonly isSample: boolean;
  readonly extent: Box | null;
  readonly crsName: string;
  readonly area: string | null;
  readonly areaOfUse: Box | null;
  readonly isInArea: boolean | null;
}

interface Entry {
  readonly crs: string;
  readonly name: string;
  readonly area: string;
}

/** Value of data in local units. */
const LOCAL = 'local';
const SOURCE = 'crs-preview';
const AREA = 'crs-area';
/** Zoom at which the base map still shows where the data is. */
const CLOSEST = 7;
const SEARCH_DELAY_MS = 250;
const COLOR = '#c0392b';
const AREA_COLOR = '#2a7f9e';
const EMPTY: FeatureCollection = { type: 'FeatureCollection', features: [] };
/** Codes of other authorities, and deprecated codes, which the search does not list. */
const CODE = /^(EPSG|ESRI|OGC|IAU|IGNF):\w+$/i;

const root = document.querySelector<HTMLElement>('[data-crs]');
const form = root?.querySelector('form');
if (root && form) connect(root, form);

function connect(root: HTMLElement, form: HTMLFormElement): void {
  const { crs: api, source } = root.dataset as { crs: string; source: string };
  const find = <T extends HTMLElement>(name: string) => root.querySelector<T>(`[data-${name}]`);
  const save = find<HTMLButtonElement>('save')!;
  const remove = find<HTMLButtonElement>('remove');
  const field = form.querySelector<HTMLInputElement>('[name="q"]')!;
  const url = `${api}/sources/${encodeURIComponent(source)}/crs`;
  let latest: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  save.hidden = false;
  if (remove) remove.hidden = false;

  const preview = async (crs: string) => {
    latest?.abort();
    const current = new AbortController();
    latest = current;
    save.disabled = true;
    setStatus(find('preview-status'), `Drawing the data in ${crs}.`);
    const address = `${url}/preview?crs=${encodeURIComponent(crs)}`;
    const result = await sendJson<Preview>('GET', address, undefined, undefined, current.signal);
    if (current.signal.aborted) return;
    const shown = 'problem' in result ? undefined : result.value;
    save.disabled = !shown;
    setStatus(
      find('preview-status'),
      'problem' in result ? result.problem : describePreview(crs, result.value),
    );
    const map = await pageMap;
    if (map && !current.signal.aborted) draw(map, shown);
  };

  const search = async () => {
    const text = field.value.trim();
    if (text === '') return;
    const result = await sendJson<{ systems: Entry[]; total: number }>(
      'GET',
      `${api}/crs?limit=20&q=${encodeURIComponent(text)}`,
    );
    if (field.value.trim() !== text) return;
    if ('problem' in result) {
      setStatus(find('search-status'), result.problem);
      return;
    }
    const { systems, total } = result.value;
    const isOther = total === 0 && CODE.test(text);
    const entries = isOther ? [{ crs: text.toUpperCase(), name: 'Other code', area: '' }] : systems;
    showHits(find('hits')!, entries);
    setStatus(find('search-status'), isOther ? '' : countHits(total, systems.length));
  };

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void search();
  });
  field.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => void search(), SEARCH_DELAY_MS);
  });
  form.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement && target.name === 'crs') void preview(target.value);
  });
  const send = async (method: 'PUT' | 'DELETE', body?: object) => {
    setBusy([save, remove], true);
    setStatus(find('save-status'), 'The server reads the source again.');
    const result = await sendJson<{ sourceId: string } | undefined>(method, url, body);
    if ('problem' in result) {
      setBusy([save, remove], false);
      setStatus(find('save-status'), result.problem);
      return;
    }
    // A source that was not published before has another id now.
    const id = result.value?.sourceId ?? source;
    location.assign(location.pathname.replace(/\/[^/]+\/crs$/, `/${encodeURIComponent(id)}/crs`));
  };
  save.addEventListener('click', () => {
    const crs = form.querySelector<HTMLInputElement>('[name="crs"]:checked')?.value;
    if (crs !== undefined) void send('PUT', { crs });
  });
  remove?.addEventListener('click', () => void send('DELETE'));
  // The visitor can type before the browser has loaded this script.
  if (field.value !== field.defaultValue) void search();
  const checked = form.querySelector<HTMLInputElement>('[name="crs"]:checked');
  if (checked) void preview(checked.value);
}

function describePreview(
  crs: string,
  { features, isSample, extent, crsName, area, isInArea }: Preview,
): string {
  if (crs === LOCAL) return 'The data is not on Earth: maps and tiles do not show it.';
  const name = `${crsName} (${crs})`;
  if (!extent) return `In ${name}, the coordinates are not on Earth.`;
  const drawn = `${isSample ? 'A sample of ' : ''}${features.length} ${features.length === 1 ? 'feature is' : 'features are'} drawn in ${name}.`;
  if (isInArea === false) return `${drawn} The data is outside the area of use: ${area}`;
  return drawn;
}

function countHits(total: number, shown: number): string {
  if (total === 0) return 'No coordinate reference system matches.';
  if (total > shown) return `${shown} of ${total} matches`;
  return total === 1 ? '1 match' : `${total} matches`;
}

function showHits(place: HTMLElement, entries: readonly Entry[]): void {
  const checked = place.querySelector<HTMLInputElement>('[name="crs"]:checked')?.value;
  place.hidden = entries.length === 0;
  place.querySelector('ul')?.replaceChildren(...entries.map((one) => createOption(one, one.crs === checked)));
}

function createOption({ crs, name, area }: Entry, isChecked: boolean): HTMLElement {
  const item = document.createElement('li');
  const label = document.createElement('label');
  label.className = 'crs-option';
  const input = document.createElement('input');
  input.type = 'radio';
  input.name = 'crs';
  input.value = crs;
  input.checked = isChecked;
  const text = document.createElement('span');
  const code = document.createElement('code');
  code.textContent = crs;
  const detail = document.createElement('span');
  detail.className = 'muted';
  detail.textContent = area;
  text.append(`${name} `, code, detail);
  label.append(input, text);
  item.append(label);
  return item;
}

function setStatus(place: HTMLElement | null, text: string): void {
  if (place) place.textContent = text;
}

function setBusy(buttons: readonly (HTMLButtonElement | null)[], isBusy: boolean): void {
  for (const button of buttons) if (button) button.disabled = isBusy;
}

/** Draws a preview and the area of use, and moves the map there. Undefined removes both. */
function draw(map: MapLibreMap, preview: Preview | undefined): void {
  if (!map.isStyleLoaded()) {
    map.once('idle', () => draw(map, preview));
    return;
  }
  const isOnEarth = preview?.extent != null;
  setData(map, SOURCE, isOnEarth ? (preview as FeatureCollection) : EMPTY);
  setData(map, AREA, preview?.areaOfUse ? outline(preview.areaOfUse) : EMPTY);
  const box = preview?.extent ?? preview?.areaOfUse;
  if (box) map.fitBounds(viewBounds(box), { padding: 32, maxZoom: CLOSEST, duration: 0 });
  map.getContainer().dataset.preview = isOnEarth ? preview.crsName : '';
}

function outline(box: Box): FeatureCollection {
  const geometry = { type: 'LineString', coordinates: createBoxRing(unwrapped(box)) } as const;
  return { type: 'FeatureCollection', features: [{ type: 'Feature', properties: {}, geometry }] };
}

function setData(map: MapLibreMap, id: string, data: FeatureCollection): void {
  const source = map.getSource<GeoJSONSource>(id);
  if (source) {
    void source.setData(data);
    return;
  }
  map.addSource(id, { type: 'geojson', data });
  if (id === AREA) {
    const paint = { 'line-color': AREA_COLOR, 'line-width': 1.5, 'line-dasharray': [3, 2] };
    map.addLayer({ id, type: 'line', source: id, paint });
    return;
  }
  map.addLayer({
    id: `${id}-fill`,
    type: 'fill',
    source: id,
    filter: ['==', ['geometry-type'], 'Polygon'],
    paint: { 'fill-color': COLOR, 'fill-opacity': 0.25 },
  });
  map.addLayer({
    id: `${id}-line`,
    type: 'line',
    source: id,
    filter: ['!=', ['geometry-type'], 'Point'],
    paint: { 'line-color': COLOR, 'line-width': 2 },
  });
  map.addLayer({
    id: `${id}-point`,
    type: 'circle',
    source: id,
    filter: ['==', ['geometry-type'], 'Point'],
    paint: {
      'circle-color': COLOR,
      'circle-radius': 4,
      'circle-stroke-color': '#ffffff',
      'circle-stroke-width': 1,
    },
  });
}
