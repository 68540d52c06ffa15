import { readFileSync } from 'node:fs';
import type { Box } from '../../core/geometry/box.js';

/** Countries and regions by name, as the build wrote them: boxes in CRS84 of their parts. */
export class RegionBoxes {
  readonly #boxes = new Map<string, Box[]>();

  private constructor(places: readonly (readonly [name: string, boxes: readonly Box[]])[]) {
    for (const [name, boxes] of places) {
      const key = placeKey(name);
      this.#boxes.set(key, [...(this.#boxes.get(key) ?? []), ...boxes]);
    }
  }

  static read(file: string): RegionBoxes {
    return new RegionBoxes(JSON.parse(readFileSync(file, 'utf8')) as [string, Box[]][]);
  }

  /** Boxes of a place; undefined when none is called so. */
  find(name: string): readonly Box[] | undefined {
    return this.#boxes.get(placeKey(name));
  }
}

const placeKey = (name: string) => name.normalize('NFD').replace(/\p{M}/gu, '').trim().toLowerCase();
