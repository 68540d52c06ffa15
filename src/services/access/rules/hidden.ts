import { createHash } from 'node:crypto';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { LayerSettings } from '../../../core/catalog/layer-settings.js';

/** Parts of a layer that its settings hide from all callers. */
export interface HiddenParts {
  /** Hash of the permanent filter. Undefined if all rows are shown. */
  readonly rows?: string;
  /** Names of the hidden fields. */
  readonly fields: readonly string[];
}

export const NOTHING_HIDDEN: HiddenParts = { fields: [] };

/**
 * Hidden parts of the source that the copy lacks. For a hash, the parts are unknown. They count as empty, which is
 * the most restrictive assumption.
 */
export const lackedParts = (hidden: HiddenParts | string): HiddenParts =>
  typeof hidden === 'string' ? NOTHING_HIDDEN : hidden;

export const hidesNothing = ({ rows, fields }: HiddenParts): boolean =>
  rows === undefined && fields.length === 0;

/** Returns the rows and fields that the settings of a layer hide. */
export function hiddenBySettings(collection: Collection): HiddenParts {
  if (!hasFeatures(collection) || !collection.rule) return NOTHING_HIDDEN;
  const { source, rule } = collection;
  const shown = new Set(source.fields.map(({ name }) => name));
  const fields = rule.stored.fields.map(({ name }) => name).filter((name) => !shown.has(name));
  return { ...(rule.rows === undefined ? {} : { rows: computeHash(rule.rows) }), fields: fields.sort() };
}

/**
 * Whether `then` also hides everything that `now` hides. Neither of two different filters is known to hide all rows
 * that the other one hides.
 */
export function hidesAtMost(now: HiddenParts, then: HiddenParts): boolean {
  return (now.rows === undefined || now.rows === then.rows) && hidesFields(now, then);
}

const hidesFields = (now: HiddenParts, then: HiddenParts) =>
  now.fields.every((name) => then.fields.includes(name));

/**
 * Whether a second layer of a table may show parts that the settings of the first one hide. It may if it hides the
 * same parts, or an administrator chose its permanent filter or hidden fields. `chosen`: its settings at the time of
 * that choice.
 */
export function hidesByChoice(
  now: HiddenParts,
  own: HiddenParts,
  settings: LayerSettings,
  chosen: HidingSettings | undefined,
): boolean {
  const present = hidingSettings(settings);
  const isChosen = (member: keyof HidingSettings) =>
    present[member] !== null && chosen?.[member] === present[member];
  const showsRows = now.rows === undefined || now.rows === own.rows || isChosen('filter');
  return showsRows && (hidesFields(now, own) || isChosen('fields'));
}

/** Hashes of settings that hide rows or fields. Null for settings that hide none. */
export interface HidingSettings {
  readonly filter?: string | null;
  readonly fields?: string | null;
}

export function hidingSettings({ filter, fields = [] }: LayerSettings): Required<HidingSettings> {
  const hidden = fields.filter((one) => one.hidden).map(({ name }) => name);
  return {
    filter: filter ? computeHash([filter.language, filter.expression]) : null,
    fields: hidden.length > 0 ? computeHash(hidden.sort()) : null,
  };
}

function computeHash(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}
