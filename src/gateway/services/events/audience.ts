import RBush from 'rbush';
import { plainBoxes } from '../../../core/box.js';
import type { Box } from '../../../core/tasks.js';
import type { Subscription } from './subscription.js';

interface Window {
  minX: number;
  minY: number;
  maxX: number;
  maxY: number;
  subscription: Subscription;
}

/** Those who listen, found by what an event is about: one that many cannot see costs no look at them. */
export class Audience {
  /** By layer; those that ask for no layer are under `undefined`. */
  readonly #everywhere = new Map<number | undefined, Set<Subscription>>();
  readonly #somewhere = new Map<number | undefined, RBush<Window>>();
  readonly #windows = new Map<Subscription, Window[]>();

  add(subscription: Subscription): void {
    const { bbox, layers } = subscription.interest;
    const windows = bbox ? plainBoxes(bbox).map((box) => windowOf(box, subscription)) : [];
    this.#windows.set(subscription, windows);
    for (const layer of layers ?? [undefined]) {
      if (bbox) {
        const tree = this.#somewhere.get(layer) ?? new RBush<Window>();
        this.#somewhere.set(layer, tree);
        for (const window of windows) tree.insert(window);
      } else {
        const all = this.#everywhere.get(layer) ?? new Set();
        this.#everywhere.set(layer, all.add(subscription));
      }
    }
  }

  delete(subscription: Subscription): void {
    const windows = this.#windows.get(subscription) ?? [];
    this.#windows.delete(subscription);
    for (const layer of subscription.interest.layers ?? [undefined]) {
      this.#everywhere.get(layer)?.delete(subscription);
      for (const window of windows) this.#somewhere.get(layer)?.remove(window);
    }
  }

  /** Who may have an interest in a change of a layer between these boxes. None comes twice. */
  of(layerId: number, boxes: readonly Box[]): Subscription[] {
    const found: Subscription[] = [];
    this.#add(layerId, boxes, found);
    this.#add(undefined, boxes, found);
    return found;
  }

  #add(layer: number | undefined, boxes: readonly Box[], found: Subscription[]): void {
    const everywhere = this.#everywhere.get(layer);
    if (everywhere) for (const subscription of everywhere) found.push(subscription);
    const tree = this.#somewhere.get(layer);
    if (!tree) return;
    const somewhere = new Set<Subscription>();
    for (const [minX, minY, maxX, maxY] of boxes)
      for (const { subscription } of tree.search({ minX, minY, maxX, maxY })) somewhere.add(subscription);
    for (const subscription of somewhere) found.push(subscription);
  }
}

function windowOf([minX, minY, maxX, maxY]: Box, subscription: Subscription): Window {
  return { minX, minY, maxX, maxY, subscription };
}
