import { STYLE_LIMITS } from '../limits.js';

/** Parts of a drawingInfo that are drawn differently. */
export interface UnsupportedSymbolizer {
  readonly code:
    | 'RENDERER_TYPE_UNSUPPORTED'
    | 'SYMBOL_TYPE_UNSUPPORTED'
    | 'PICTURE_MARKER_PARTIAL'
    | 'RENDERER_PAYLOAD_INCOMPLETE';
  readonly symbolizerType: string;
  readonly guidance: string;
}

/** Each finding once. */
export class DrawingReport {
  readonly #findings = new Map<string, UnsupportedSymbolizer>();

  add(code: UnsupportedSymbolizer['code'], symbolizerType: string, guidance: string): void {
    if (this.#findings.size >= STYLE_LIMITS.styleDiagnostics) return;
    const type = symbolizerType.slice(0, 80);
    this.#findings.set(`${code} ${type} ${guidance}`, { code, symbolizerType: type, guidance });
  }

  get unsupported(): UnsupportedSymbolizer[] {
    return [...this.#findings.values()];
  }
}
