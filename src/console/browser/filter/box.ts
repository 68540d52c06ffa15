import type { Map as MapLibreMap, MapMouseEvent } from 'maplibre-gl';
import { pageMap, unfoldMap } from '../page-map.js';

/** Boxes of the page's map, in degrees: west, south, east, north. */
type Box = readonly string[];

/** The visible area of the map. */
export async function getVisibleBox(): Promise<Box | undefined> {
  unfoldMap();
  const map = await pageMap;
  if (!map) return undefined;
  const bounds = map.getBounds();
  return normalizeBox(bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth());
}

/** A box that is drawn from corner to corner. Escape ends it without a box. */
export async function letUserDrawBox(): Promise<Box | undefined> {
  unfoldMap();
  const map = await pageMap;
  if (!map) return undefined;
  const container = map.getContainer();
  container.scrollIntoView({ block: 'center' });
  return draw(map, container);
}

function draw(map: MapLibreMap, container: HTMLElement): Promise<Box | undefined> {
  return new Promise((resolve) => {
    const frame = document.createElement('div');
    frame.className = 'drawn-box';
    const canvas = map.getCanvas();
    let start: MapMouseEvent | undefined;
    map.dragPan.disable();
    canvas.style.cursor = 'crosshair';
    container.append(frame);
    const down = (event: MapMouseEvent) => {
      event.preventDefault();
      start = event;
    };
    const move = (event: MapMouseEvent) => {
      if (!start) return;
      const [a, b] = [start.point, event.point];
      frame.style.left = `${Math.min(a.x, b.x)}px`;
      frame.style.top = `${Math.min(a.y, b.y)}px`;
      frame.style.width = `${Math.abs(a.x - b.x)}px`;
      frame.style.height = `${Math.abs(a.y - b.y)}px`;
    };
    const end = (box: Box | undefined) => {
      for (const subscription of subscriptions) subscription.unsubscribe();
      removeEventListener('keydown', onKey);
      map.dragPan.enable();
      canvas.style.cursor = '';
      frame.remove();
      resolve(box);
    };
    const up = (event: MapMouseEvent) => {
      if (!start) return;
      const [a, b] = [start.lngLat, event.lngLat];
      end(
        normalizeBox(
          Math.min(a.lng, b.lng),
          Math.min(a.lat, b.lat),
          Math.max(a.lng, b.lng),
          Math.max(a.lat, b.lat),
        ),
      );
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape') end(undefined);
    };
    const subscriptions = [map.on('mousedown', down), map.on('mousemove', move), map.on('mouseup', up)];
    addEventListener('keydown', onKey);
  });
}

/** Longitudes are those of one world; west is greater than east across the antimeridian. */
function normalizeBox(west: number, south: number, east: number, north: number): Box {
  const [left, right] = east - west >= 360 ? [-180, 180] : [wrapped(west), wrapped(east)];
  return [left, Math.max(-90, south), right, Math.min(90, north)].map((value) =>
    String(Math.round(value * 1e5) / 1e5),
  );
}

const wrapped = (longitude: number) => ((((longitude + 180) % 360) + 360) % 360) - 180;
