import { createHash } from 'node:crypto';
import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { LayerSettings } from '../../../core/catalog/layer-settings.js';

/** What the settings of a layer hide from everybody. */
export interface HiddenParts {
  /** Names the permanent filter; absent if all rows are shown. */
  readonly rows?: string;
  /** Names of the hidden fields. */
  readonly fields: readonly string[];
}

export const NOTHING_HIDDEN: HiddenParts = { fields: [] };

/** What a copy lacks of what its source hides. Of a hash nobody knows what it lacks: it counts as nothing, which opens least. */
export const lackedParts = (hidden: HiddenParts | string): HiddenParts =>
  typeof hidden === 'string' ? NOTHING_HIDDEN : hidden;

export const hidesNothing = ({ rows, fields }: HiddenParts): boolean =>
  rows === undefined && fields.length === 0;

/** Returns what the settings of a layer hide. */
export function hiddenBySettings(collection: Collection): HiddenParts {
  if (!hasFeatures(collection) || !collection.rule) return NOTHING_HIDDEN;
  const { source, rule } = collection;
  const shown = new Set(source.fields.map(({ name }) => name));
  const fields = rule.stored.fields.map(({ name }) => name).filter((name) => !shown.has(name));
  return { ...(rule.rows === undefined ? {} : { rows: computeHash(rule.rows) }), fields: fields.sort() };
}

/**
 * Whether everything that `now` hides is hidden by `then` as well. Of two different filters neither is known to hide all that
 * the other one hides.
 */
export function hidesAtMost(now: HiddenParts, then: HiddenParts): boolean {
  return (now.rows === undefined || now.rows === then.rows) && hidesFields(now, then);
}

const hidesFields = (now: HiddenParts, then: HiddenParts) =>
  now.fields.every((name) => then.fields.includes(name));

/**
 * Whether a second layer of a table may show what the settings of the first one hide. It hides the same, or an administrator
 * chose its own permanent filter, or hidden fields, for it. `chosen`: its settings of then.
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

/** Settings that hide something, by hashes. Null for those that hide nothing. */
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
