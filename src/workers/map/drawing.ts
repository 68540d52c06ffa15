import type { CompiledLayer } from './compiled-style.js';
import { element } from './symbolizers/xml.js';

/** Web Mercator by name only: the grid of the tile is that of the map already, and nothing is projected. */
const SRS = 'epsg:3857';

/** What one call of Mapnik draws: style layers, bottom first, and the tile with the features that they show. */
export class Drawing {
  readonly #layers: string[] = [];
  readonly #fontSets = new Map<string, string>();
  readonly #tiles = new Map<string, Uint8Array>();

  get isEmpty(): boolean {
    return this.#layers.length === 0;
  }

  /** Adds the layer `name` of a tile; a tile that several style layers draw is given under the same name. */
  add(name: string, tile: Uint8Array, { symbolizers, fontSets }: CompiledLayer): void {
    const style = `style-${this.#layers.length}`;
    this.#layers.push(
      element('Style', { name: style }, element('Rule', {}, symbolizers)) +
        element('Layer', { name, srs: SRS }, element('StyleName', {}, style)),
    );
    for (const [set, content] of fontSets) this.#fontSets.set(set, content);
    this.#tiles.set(name, tile);
  }

  /** The map definition; equal for equal styles, whatever the features are. */
  xml(): string {
    const sets = [...this.#fontSets].map(([name, faces]) => element('FontSet', { name }, faces));
    return `<?xml version="1.0" encoding="utf-8"?>${element('Map', { srs: SRS }, sets.join('') + this.#layers.join(''))}`;
  }

  tile(): Buffer {
    return Buffer.concat([...this.#tiles.values()]);
  }
}
