import { depthOver } from './feature-values.js';
import { parseExact, utf8 } from './json.js';
import { LIMITS } from './limits.js';

/** Levels of a batch around the values of its features. */
const LEVELS_AROUND = 5;

/**
 * Reads a feature, or a batch of them, from UTF-8 JSON: each geometry becomes JSON text, which changes threads quickly,
 * and whole numbers keep all digits. Throws an Error whose message may be shown for what is no JSON or nests too deep.
 */
export function parseFeatures(json: Uint8Array): unknown {
  const body = parseExact(utf8(json));
  if (!isObject(body)) return body;
  const features = [body, ...entriesOf(body)];
  for (const feature of features) {
    const { geometry } = feature;
    if (geometry === undefined || geometry === null) continue;
    if (depthOver(geometry, LIMITS.jsonDepth)) throw new Error('a geometry is nested too deep');
    feature['geometry'] = JSON.stringify(geometry);
  }
  if (depthOver(body, LIMITS.jsonDepth + LEVELS_AROUND))
    throw new Error(`it is nested deeper than ${LIMITS.jsonDepth} levels`);
  return body;
}

/** Features of the operations of a batch. */
function entriesOf({ operations }: Record<string, unknown>): Record<string, unknown>[] {
  if (!Array.isArray(operations)) return [];
  return operations.map((operation) => (operation as { feature?: unknown } | null)?.feature).filter(isObject);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
