import type { FeatureEvent } from '../../core/edits.js';
import { isNumberText } from '../../core/exact-number.js';
import { maskedValue } from '../../core/field-masks.js';
import { type JsonText, membersIn, objectText } from '../../core/json-text.js';
import type { Field } from '../../core/vector-source.js';
import type { Scope } from './scope.js';

/** Attributes of events as a subscription has them. */

/** The object with what is shown of it. */
export function shownAttributes(attributes: string, fields: Scope['fields']): string {
  if (!fields) return attributes;
  return objectText(
    [...membersIn(attributes)!].flatMap(([name, json]) => {
      const field = fields.get(name);
      return field ? [[name, field.mask ? JSON.stringify(maskedIn(json, field)) : json] as const] : [];
    }),
  );
}

/** What a mask leaves of the value of a JSON text. Numbers have all their digits. */
function maskedIn(json: JsonText, field: Field): unknown {
  return maskedValue(isNumberText(json) ? json : JSON.parse(json), field);
}

/** Names of the attributes whose change shows. */
export function shownChanges(event: FeatureEvent, fields: Scope['fields']): readonly string[] {
  const { changedAttributes: names } = event;
  if (!fields) return names;
  return names.filter((name) => {
    const field = fields.get(name);
    return field !== undefined && (!field.mask || hasOtherMask(event, field));
  });
}

/** What a mask makes of a value may be what it was. */
function hasOtherMask({ attributes = '{}', attributesBefore }: FeatureEvent, field: Field): boolean {
  if (attributesBefore === undefined) return true;
  const [before, after] = [attributesBefore, attributes].map((text) =>
    maskedIn(membersIn(text)!.get(field.name) ?? 'null', field),
  );
  return before !== after;
}
