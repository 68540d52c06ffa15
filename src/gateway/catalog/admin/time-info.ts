import { hasFeatures } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import type { TimeInfo } from '../../../core/catalog/layer-settings.js';
import { problem, requireSound } from '../../../core/http/body-problems.js';
import type { Field } from '../../../core/sources/vector-source.js';
import { isTimeField } from '../../../services/catalog/layers/effective-collection.js';
import type { TimeInfoChange } from './service-schemas.js';

/** An absent member keeps its value; null and an empty text remove it. Returns undefined if no member is left. */
export function changedTime(change: TimeInfoChange, before: TimeInfo | undefined): TimeInfo | undefined {
  const member = (name: keyof TimeInfo) => {
    const value = change[name];
    return value === undefined ? (before?.[name] ?? null) : value || null;
  };
  const after = {
    startTimeField: member('startTimeField'),
    endTimeField: member('endTimeField'),
    trackIdField: member('trackIdField'),
  };
  return Object.values(after).every((name) => name === null) ? undefined : after;
}

/** Throws 400 for a field that no layer has, or that has no date type. */
export function requireTimeFields(
  time: TimeInfo | undefined,
  collections: readonly Collection[],
  within: string,
): void {
  if (!time) return;
  const fields = collections
    .filter(hasFeatures)
    .flatMap(({ source, rule }) => (rule?.stored ?? source).fields);
  const check = (member: keyof TimeInfo, fits: (field: Field) => boolean, wrong: string) => {
    const name = time[member];
    if (name === null) return undefined;
    const same = fields.filter((field) => field.name === name);
    if (same.length === 0) return problem(`${within}${member}`, 'must be a field of a layer');
    return same.some(fits) ? undefined : problem(`${within}${member}`, wrong);
  };
  requireSound([
    check('startTimeField', isTimeField, 'must be a field of dates or times'),
    check('endTimeField', isTimeField, 'must be a field of dates or times'),
    check('trackIdField', () => true, ''),
  ]);
}
