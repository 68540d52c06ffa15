/** Tasks for glyph ranges and icon sheets of labels and icons. */

export interface GlyphTask {
  /** Names of fonts as a style's `text-font` has them. */
  readonly fonts: readonly string[];
  /** First code point of the range, a multiple of 256. */
  readonly first: number;
}

/** Sprite for MapLibre: the index of the icons and the image. */
export interface Sprite {
  /** JSON. */
  readonly index: string;
  /** PNG image whose alpha channel contains distances to the outlines. */
  readonly image: Uint8Array;
}

/** The outline of an icon: SVG path data in a square box of `side`. */
export interface IconOutline {
  readonly path: string;
  readonly side: number;
}

export interface SymbolTasks {
  /** Outlines of the named icons; unknown icons are omitted. */
  'symbols.icons': { input: { names: readonly string[] }; output: Record<string, IconOutline> };
  /** A range of 256 glyphs in MapLibre's glyph format, compressed by gzip. */
  'symbols.glyphs': { input: GlyphTask; output: Uint8Array };
  /** All icons; `scale` is the number of its pixels per pixel of the map. */
  'symbols.sprite': { input: { scale: 1 | 2 }; output: Sprite };
}
