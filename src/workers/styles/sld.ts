import { importSld } from '../../core/styles/sld/import/import.js';
import { decodeXml } from '../../core/styles/sld/import/xml-text.js';
import { SldFailure } from '../../core/styles/sld/report.js';
import type { SldTask, SldTaskResult } from '../../core/styles/sld/task.js';
import { icons } from './symbols/icons.js';

/** Reads a style. A failure is also a result, with its diagnostic. */
export function readSld({ xml, target }: SldTask): SldTaskResult {
  try {
    return importSld(decodeXml(xml), { ...target, icons: new Set(icons().keys()), places: false });
  } catch (error) {
    if (!(error instanceof SldFailure)) throw error;
    const malformed = error.construct === 'XML' || error.construct === 'DOCTYPE';
    const { detectedVersion, diagnostic } = error;
    return { detectedVersion, layerCount: 0, layers: [], diagnostics: [diagnostic], malformed };
  }
}
