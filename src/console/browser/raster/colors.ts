import type { RasterTileSource } from 'maplibre-gl';
import type { MapData } from '../../../core/catalog/page-data.js';
import { appendQuery, COLOR_NAMES, pickColors } from '../../../core/rasters/color-query.js';
import { sourceId } from '../layers.js';
import { onThisOrigin, pageData } from '../page.js';
import { pageMap } from '../page-map.js';
import { writePermalink } from '../viewer/permalink.js';
import { ColorForm, showLegend } from './color-form.js';

/** Bands and colours of the raster of a page: in its map, legend, links and URL. */

const form = document.querySelector<HTMLFormElement>('[data-colors]');
if (form) connect(form, form.dataset.colors!);

function connect(form: HTMLFormElement, id: string): void {
  const { layers, baseUrl } = pageData<MapData>('map-data');
  const layer = layers.find((one) => one.id === id);
  const colors = new ColorForm(form, show, pickColors(location.search).toString());
  function show(query: string): void {
    const page = new URLSearchParams(location.search);
    for (const name of COLOR_NAMES) page.delete(name);
    for (const [name, value] of new URLSearchParams(query)) page.set(name, value);
    history.replaceState(
      null,
      '',
      `${location.pathname}?${page.toString().replaceAll('%2C', ',')}${location.hash}`,
    );
    for (const image of document.querySelectorAll<HTMLImageElement>('img[data-colored]'))
      void showLegend(image, query).then((range) => colors.showRange(range));
    for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-colored]'))
      link.href = appendQuery(link.dataset.colored!, query);
    for (const link of document.querySelectorAll<HTMLAnchorElement>('a[data-viewer]'))
      link.href = `${link.dataset.viewer!}${query ? writePermalink({ colors: [{ id, query }] }) : ''}`;
    if (!layer) return;
    const tiles = appendQuery(onThisOrigin(layer.tiles.replace(/\?.*/, ''), baseUrl), query);
    void pageMap.then((map) => map?.getSource<RasterTileSource>(sourceId(id))?.setTiles([tiles]));
  }
}
