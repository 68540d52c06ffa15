/** The part of opentype.js that we use; the package has no types of its own. */
declare module 'opentype.js' {
  type PathCommand =
    | { type: 'M' | 'L'; x: number; y: number }
    | { type: 'Q'; x1: number; y1: number; x: number; y: number }
    | { type: 'C'; x1: number; y1: number; x2: number; y2: number; x: number; y: number }
    | { type: 'Z' };

  interface Glyph {
    /** Units of the font; absent in damaged ones. */
    readonly advanceWidth: number | undefined;
    /** Outline at this size in pixels, y pointing down. */
    getPath(x: number, y: number, fontSize: number): { readonly commands: readonly PathCommand[] };
  }

  interface Font {
    readonly unitsPerEm: number;
    /** 0 when the font does not have the character. */
    charToGlyphIndex(character: string): number;
    readonly glyphs: { get(index: number): Glyph };
  }

  const opentype: { parse(buffer: ArrayBuffer, options?: { lowMemory?: boolean }): Font };
  export default opentype;
  export type { Font, Glyph, PathCommand };
}
