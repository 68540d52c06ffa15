import { maskedJson } from '../../core/access/field-masks.js';
import type { FeatureEvent } from '../../core/edits/edits.js';
import type { Field } from '../../core/sources/vector-source.js';
import { membersIn, objectText } from '../../core/values/json-text.js';
import type { Scope } from './scope.js';

/** Attributes of events as a subscription has them. */

/** The object with what is shown of it. */
export function shownAttributes(attributes: string, fields: Scope['fields']): string {
  if (!fields) return attributes;
  return objectText(
    [...membersIn(attributes)!].flatMap(([name, json]) => {
      const field = fields.get(name);
      return field ? [[name, maskedJson(json, field)] as const] : [];
    }),
  );
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

/** Whether the masked value of a field can have changed: different stored values can have equal masked values. */
function hasOtherMask({ attributes = '{}', attributesBefore }: FeatureEvent, field: Field): boolean {
  if (attributesBefore === undefined) return true;
  const [before, after] = [attributesBefore, attributes].map((text) =>
    maskedJson(membersIn(text)!.get(field.name) ?? 'null', field),
  );
  return before !== after;
}
