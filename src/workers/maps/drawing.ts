import type { CompiledLayer } from './compiled-style.js';
import { writeMapnikElement } from './symbolizers/xml.js';

/** Nominal CRS. The grid of the tile already is the grid of the map, so coordinates are not projected. */
const SRS = 'epsg:3857';

/** Content of one call of Mapnik: style layers, bottom first, and the tile with the features that they show. */
export class MapnikDrawing {
  readonly #styles: string[] = [];
  /** Layers of Mapnik, and the styles in which each is drawn. */
  readonly #layers: { name: string; styles: string[] }[] = [];
  readonly #fontSets = new Map<string, string>();
  readonly #tiles = new Map<string, Uint8Array>();

  get isEmpty(): boolean {
    return this.#styles.length === 0;
  }

  /** Adds the layer `name` of a tile; a tile that several style layers draw is given under the same name. */
  add(name: string, tile: Uint8Array, { symbolizers, fontSets }: CompiledLayer): void {
    const style = `style-${this.#styles.length}`;
    this.#styles.push(
      writeMapnikElement('Style', { name: style }, writeMapnikElement('Rule', {}, symbolizers)),
    );
    const last = this.#layers.at(-1);
    if (last?.name === name) last.styles.push(style);
    else this.#layers.push({ name, styles: [style] });
    for (const [set, content] of fontSets) this.#fontSets.set(set, content);
    this.#tiles.set(name, tile);
  }

  /** Returns the map definition. It is equal for equal styles, independent of the features. */
  xml(): string {
    const sets = [...this.#fontSets].map(([name, faces]) => writeMapnikElement('FontSet', { name }, faces));
    const layers = this.#layers.map(layerElement);
    return `<?xml version="1.0" encoding="utf-8"?>${writeMapnikElement('Map', { srs: SRS }, [...sets, ...this.#styles, ...layers].join(''))}`;
  }

  tile(): Buffer {
    return Buffer.concat([...this.#tiles.values()]);
  }
}

/** Features that several styles draw are read once. */
function layerElement({ name, styles }: { name: string; styles: readonly string[] }): string {
  const names = styles.map((style) => writeMapnikElement('StyleName', {}, style)).join('');
  return writeMapnikElement(
    'Layer',
    { name, srs: SRS, 'cache-features': styles.length > 1 ? 'true' : undefined },
    names,
  );
}
