import RBush from 'rbush';
import type { Box } from '../../core/geometry/box.js';
import { plainBoxes } from '../../core/geometry/box.js';
import type { Listener } from './scope.js';

interface Window<L> {
  minX: number;
  minY: number;
  maxX: number;
  maxY: number;
  listener: L;
}

/** Listeners, indexed by the subject of events. An event costs no time for listeners that cannot see it. */
export class Audience<L extends Listener> {
  /** Listeners by layer. Listeners without a layer are under `undefined`. */
  readonly #everywhere = new Map<number | undefined, Set<L>>();
  readonly #somewhere = new Map<number | undefined, RBush<Window<L>>>();
  readonly #windows = new Map<L, Window<L>[]>();

  add(listener: L): void {
    const { bbox, layers } = listener.interest;
    const windows = bbox ? plainBoxes(bbox).map((box) => computeWindow(box, listener)) : [];
    this.#windows.set(listener, windows);
    for (const layer of layers ?? [undefined]) {
      if (bbox) {
        const tree = this.#somewhere.get(layer) ?? new RBush<Window<L>>();
        this.#somewhere.set(layer, tree);
        for (const window of windows) tree.insert(window);
      } else {
        const all = this.#everywhere.get(layer) ?? new Set();
        this.#everywhere.set(layer, all.add(listener));
      }
    }
  }

  delete(listener: L): void {
    const windows = this.#windows.get(listener) ?? [];
    this.#windows.delete(listener);
    for (const layer of listener.interest.layers ?? [undefined]) {
      this.#everywhere.get(layer)?.delete(listener);
      for (const window of windows) this.#somewhere.get(layer)?.remove(window);
    }
  }

  /** Listeners that can be interested in a change of a layer between these boxes, each once. */
  of(layerId: number, boxes: readonly Box[]): L[] {
    const listeners: L[] = [];
    this.#add(layerId, boxes, listeners);
    this.#add(undefined, boxes, listeners);
    return listeners;
  }

  #add(layer: number | undefined, boxes: readonly Box[], listeners: L[]): void {
    const everywhere = this.#everywhere.get(layer);
    if (everywhere) for (const listener of everywhere) listeners.push(listener);
    const tree = this.#somewhere.get(layer);
    if (!tree) return;
    const somewhere = new Set<L>();
    for (const [minX, minY, maxX, maxY] of boxes)
      for (const { listener } of tree.search({ minX, minY, maxX, maxY })) somewhere.add(listener);
    for (const listener of somewhere) listeners.push(listener);
  }
}

function computeWindow<L>([minX, minY, maxX, maxY]: Box, listener: L): Window<L> {
  return { minX, minY, maxX, maxY, listener };
}
