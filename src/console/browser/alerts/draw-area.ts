import type { Map as MapLibreMap } from 'maplibre-gl';

export type Corner = readonly [number, number];

interface Drawing {
  /** The corners changed. */
  changed(corners: readonly Corner[]): void;
  /** Undefined: the drawing was ended without an area. */
  done(corners: readonly Corner[] | undefined): void;
}

/** Pixels between two clicks that are one corner. */
const NEAR = 4;

/**
 * Lets people draw a polygon on a map. Clicks add corners; a double click ends. On the keyboard, arrow keys move the map
 * under the crosshair, Enter adds a corner, Backspace removes one, and Escape ends without an area.
 */
export class AreaDrawing {
  readonly #map: MapLibreMap;
  readonly #drawing: Drawing;
  readonly #crosshair = document.createElement('div');
  readonly #subscriptions: { unsubscribe(): void }[];
  #corners: Corner[] = [];

  constructor(map: MapLibreMap, drawing: Drawing) {
    this.#map = map;
    this.#drawing = drawing;
    const canvas = map.getCanvas();
    this.#crosshair.className = 'crosshair';
    map.getContainer().append(this.#crosshair);
    canvas.style.cursor = 'crosshair';
    map.doubleClickZoom.disable();
    this.#subscriptions = [
      map.on('click', ({ lngLat }) => this.#add([lngLat.lng, lngLat.lat])),
      map.on('dblclick', (event) => {
        event.preventDefault();
        this.finish();
      }),
    ];
    canvas.addEventListener('keydown', this.#onKey, { capture: true });
    map.getContainer().scrollIntoView({ block: 'nearest' });
    canvas.focus({ preventScroll: true });
    drawing.changed([]);
  }

  undo(): void {
    this.#corners = this.#corners.slice(0, -1);
    this.#drawing.changed(this.#corners);
  }

  /** Ends the drawing. Returns false for fewer than three corners, which are not an area. */
  finish(): boolean {
    if (this.#corners.length < 3) return false;
    this.#end(this.#corners);
    return true;
  }

  cancel(): void {
    this.#end(undefined);
  }

  #add(corner: Corner): void {
    const last = this.#corners.at(-1);
    const [a, b] = [corner, last ?? corner].map((one) => this.#map.project([...one] as [number, number]));
    if (last && Math.hypot(a!.x - b!.x, a!.y - b!.y) < NEAR) return;
    this.#corners = [...this.#corners, [round(corner[0]), round(corner[1])]];
    this.#drawing.changed(this.#corners);
  }

  readonly #onKey = (event: KeyboardEvent): void => {
    const { lng, lat } = this.#map.getCenter();
    const actions: Record<string, () => void> = {
      Enter: () => this.#add([lng, lat]),
      Backspace: () => this.undo(),
      Escape: () => this.cancel(),
    };
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };

  #end(corners: readonly Corner[] | undefined): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    const canvas = this.#map.getCanvas();
    canvas.removeEventListener('keydown', this.#onKey, { capture: true });
    canvas.style.cursor = '';
    this.#crosshair.remove();
    // The second click of a double click still belongs to the drawing.
    setTimeout(() => this.#map.doubleClickZoom.enable(), 300);
    this.#drawing.done(corners);
  }
}

const round = (degrees: number) => Math.round(degrees * 1e6) / 1e6;
