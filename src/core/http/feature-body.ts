import { depthOver } from '../features/feature-values.js';
import { LIMITS } from '../kit/limits.js';
import { utf8 } from '../values/json.js';
import { elementsIn, membersIn } from '../values/json-text.js';

/** Levels of a batch around the values of its features. */
const LEVELS_AROUND = 5;

/**
 * Parses a feature or a batch from UTF-8 JSON. Each geometry and each property becomes JSON text, which is quickly
 * transferred between threads and keeps all digits; ids are text. Throws an Error with a message for clients if the
 * JSON is invalid or too deep.
 */
export function parseFeatures(json: Uint8Array): unknown {
  const text = utf8(json);
  const body = JSON.parse(text) as unknown;
  if (!isObject(body)) return body;
  const members = membersIn(text)!;
  const features = [[body, members] as const, ...listEntries(body, members)];
  for (const [feature] of features) {
    const { geometry } = feature;
    if (geometry === undefined || geometry === null) continue;
    if (depthOver(geometry, LIMITS.jsonDepth)) throw new Error('a geometry is nested too deep');
    feature['geometry'] = JSON.stringify(geometry);
  }
  if (depthOver(body, LIMITS.jsonDepth + LEVELS_AROUND))
    throw new Error(`it is nested deeper than ${LIMITS.jsonDepth} levels`);
  for (const [feature, texts] of features) keepTexts(feature, texts);
  return body;
}

type Members = ReadonlyMap<string, string>;

/** Puts texts in the place of values that lose digits as such. */
function keepTexts(feature: Record<string, unknown>, texts: Members): void {
  if (isObject(feature['properties']))
    feature['properties'] = Object.fromEntries(membersIn(texts.get('properties')!)!);
  const { id } = feature;
  if (Number.isInteger(id) && !Number.isSafeInteger(id)) feature['id'] = texts.get('id');
}

/** Features of the operations of a batch, with their members as text. */
function listEntries(
  { operations }: Record<string, unknown>,
  members: Members,
): [feature: Record<string, unknown>, members: Members][] {
  if (!Array.isArray(operations)) return [];
  const texts = elementsIn(members.get('operations')!)!;
  return operations.flatMap((operation, i) => {
    const feature = (operation as { feature?: unknown } | null)?.feature;
    return isObject(feature) ? [[feature, membersIn(membersIn(texts[i]!)!.get('feature')!)!] as const] : [];
  }) as [Record<string, unknown>, Members][];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
