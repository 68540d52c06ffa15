import { promisify } from 'node:util';
import mapnik, { type Image } from '@mapnik/mapnik';
import { TaskFailure } from '../../core/errors/failure.js';
import type { MapLayer, MapTask } from '../../core/maps/maps.js';
import { LAYER_TYPES } from '../../core/styles/layer-types.js';
import { type MvtLayer, readTileLayers } from '../../core/tiles/tile-layers.js';
import type { Cancellation } from '../threads/cancellation.js';
import { premultiply, putOver } from './alpha.js';
import { type CompiledLayer, compiledStyle, type StyleResources } from './compiled-style.js';
import { MapnikDrawing } from './drawing.js';
import { drawHeatmap } from './heatmap.js';
import { withMap } from './maps.js';
import { needsFeatures, styledFeatures } from './styled-features.js';

export type VectorLayer = Extract<MapLayer, { kind: 'vector' }>;

/** Pixels around the canvas whose symbols may still reach into it. */
const BUFFER_PIXELS = 64;

type CanvasOf = Pick<MapTask, 'width' | 'height' | 'tileExtent' | 'scale' | 'zoom' | 'cut'>;

/** One layer of a style over one layer of a tile. */
interface Pair {
  source: MvtLayer;
  tile: Uint8Array;
  style: CompiledLayer;
}

/**
 * Draws the vector layers of a map, bottom first. Symbols come last, above all fills and lines, in one call of
 * Mapnik, so that labels do not overlap. Symbols of upper layers are placed first, like in MapLibre.
 */
export class VectorPainter {
  readonly #canvas: Image;
  readonly #task: CanvasOf;
  readonly #resources: StyleResources;
  readonly #cancellation: Cancellation;
  #drawing = new MapnikDrawing();
  #symbols: Pair[] = [];
  #count = 0;

  constructor(canvas: Image, task: CanvasOf, resources: StyleResources, cancellation: Cancellation) {
    this.#canvas = canvas;
    this.#task = task;
    this.#resources = resources;
    this.#cancellation = cancellation;
  }

  async add({ tile, style }: VectorLayer): Promise<void> {
    const sources = readLayers(tile);
    const { zoom, scale, cut } = this.#task;
    const place = { zoom, scale, tiled: cut !== undefined };
    for (const compiled of compiledStyle(style, place, this.#resources)) {
      for (const source of sources) {
        const pair = { source, tile, style: compiled };
        const { isMark, isSurface } = LAYER_TYPES[compiled.type];
        if (isMark) this.#symbols.push(pair);
        else if (isSurface) await this.#addHeatmap(pair);
        else await this.#addPair(pair);
      }
    }
  }

  /** Draws everything that was added so far except symbols, so that other content can be drawn above it. */
  async flush(): Promise<void> {
    if (this.#drawing.isEmpty) return;
    const drawing = this.#drawing;
    this.#drawing = new MapnikDrawing();
    await this.#paint(drawing);
  }

  async finish(): Promise<void> {
    for (const pair of this.#symbols.reverse()) await this.#addPair(pair);
    await this.flush();
  }

  async #addPair({ source, tile, style }: Pair): Promise<void> {
    if (style.symbolizers === '') return;
    this.#cancellation.check();
    if (!needsFeatures(style, source)) return this.#drawing.add(source.name, tile, style);
    // Starts with a private-use character, so that it cannot be the name of a collection.
    const name = `\ue000${this.#count++}`;
    this.#drawing.add(name, await styledFeatures(source, name, style, this.#cancellation), style);
  }

  async #addHeatmap({ source, style }: Pair): Promise<void> {
    await this.flush();
    this.#cancellation.check();
    await putOver(this.#canvas, drawHeatmap(source, style, this.#task, this.#cancellation), this.#task);
  }

  async #paint(drawing: MapnikDrawing): Promise<void> {
    this.#cancellation.check();
    const tile = new mapnik.VectorTile(0, 0, 0, { tile_size: this.#task.tileExtent });
    tile.setDataSync(drawing.tile());
    await premultiply(this.#canvas);
    await withMap(drawing.xml(), async (map) => {
      const options = { buffer_size: BUFFER_PIXELS, scale: this.#task.scale };
      await promisify(tile.render.bind(tile))(map, this.#canvas, options);
    });
  }
}

function readLayers(tile: Uint8Array): MvtLayer[] {
  try {
    return readTileLayers(tile);
  } catch (error) {
    throw new TaskFailure('invalid-input', 'A layer is not a vector tile.', String(error));
  }
}
