import type { StyleLayer } from '../model.js';
import type { SldTarget } from './import/context.js';
import type { SldDiagnostic, SldVersion } from './report.js';

/** Uploaded SLD style with its target. */
export interface SldTask {
  readonly xml: Uint8Array;
  readonly target: Pick<SldTarget, 'geometryType' | 'fields'>;
}

export interface SldTaskResult {
  readonly detectedVersion: SldVersion | undefined;
  readonly name?: string | undefined;
  /** Layers of the text that was read; 0 with a failure. */
  readonly layerCount: number;
  /** Empty if no part can be drawn. */
  readonly layers: readonly StyleLayer[];
  readonly diagnostics: readonly SldDiagnostic[];
  /** The text is not XML at all. */
  readonly malformed?: boolean;
}
