export const STYLE_LIMITS = {
  /** Levels of nesting of a style in SLD, and rules of one. */
  sldDepth: 64,
  sldRules: 1000,
  /** Maximum bytes of the style that an SLD is translated into. */
  sldStyleBytes: 1_048_576,
  /** Classes of a renderer of a drawingInfo. */
  drawingClasses: 1000,
  /** Diagnostics of one translation of a style. */
  styleDiagnostics: 200,
  /** Bytes of the ranges of glyphs that are kept. */
  glyphBytes: 33_554_432,
  /** Values and levels of nesting of a style, its layers, and errors that one response lists. */
  styleNodes: 50_000,
  styleDepth: 64,
  styleLayers: 500,
  styleErrors: 20,
  /** Versions of a layer's style that are kept. */
  styleVersions: 100,
} as const;
