import {
  completeForm,
  type FormDocument,
  type FormDraft,
  type FormFieldType,
  type FormRule,
  GEOMETRY_TYPES,
} from '../../core/forms/form-document.js';
import { FITTING_GEOMETRIES, type FormLayer } from '../../core/forms/form-issues.js';
import type { Field } from '../../core/sources/vector-source.js';

export interface GeneratedForm {
  readonly form: FormDocument;
  /** Columns without a field, and why. */
  readonly unanswered: readonly { readonly column: string; readonly reason: string }[];
}

/**
 * Makes a form from the schema of a layer: a field for each column that clients can write, with its alias, its domain
 * and whether it needs a value. Fields of `draft` are kept, and their columns get no second field.
 */
export function generateForm(layer: FormLayer, draft: Partial<FormDraft>, formId: string): GeneratedForm {
  const kept = draft.fields ?? [];
  const answered = new Set(kept.map(({ targetField }) => targetField));
  const open = layer.fields.filter(({ name, generated }) => !generated && !answered.has(name));
  const described = open.map((column) => ({ column, field: describeColumn(column) }));
  const made = described.flatMap(({ field }) => (field ? [field] : []));
  const place = kept.some(({ type }) => GEOMETRY_TYPES.has(type)) ? [] : describePlace(layer);
  const fields = uniqueIds([...kept, ...place, ...made]);
  const form = completeForm(
    {
      ...draft,
      target: { serviceId: draft.target?.serviceId ?? null, layerId: draft.target!.layerId },
      title: draft.title ?? layer.title,
      fields,
      // Sections of the draft would lack the new fields.
      ...(draft.sections && made.length === 0 ? {} : { sections: undefined }),
      provenance: { source: `layer:${layer.id}`, sourceVersion: null },
    } as FormDraft,
    formId,
  );
  const unanswered = described
    .filter(({ field }) => !field)
    .map(({ column: { name, type } }) => ({
      column: name,
      reason: `No type of field has values of the type ${type}.`,
    }));
  return { form, unanswered };
}

type DraftField = FormDraft['fields'][number];

const TYPES: Partial<Readonly<Record<Field['type'], FormFieldType>>> = {
  integer: 'integer',
  number: 'decimal',
  string: 'text',
  boolean: 'select_one',
  date: 'date',
  'date-time': 'dateTime',
};

function describeColumn(column: Field): DraftField | undefined {
  const { name, type, nullable, title, description, range, maxLength } = column;
  const own = TYPES[type];
  // Masked values cannot be written.
  if (!own || column.mask) return undefined;
  const choices = listChoices(column);
  const rules: FormRule[] =
    own === 'text' && maxLength !== undefined && !choices
      ? [{ ruleId: 'length', type: 'maxLength', parameters: { value: maxLength }, message: null }]
      : [];
  return {
    fieldId: fieldIdOf(name),
    label: title ?? name,
    hint: description ?? null,
    type: choices ? 'select_one' : own,
    targetField: name,
    required: !nullable,
    readOnly: false,
    private: false,
    ...(choices ? { domain: { type: 'codedValue' as const, choices } } : {}),
    ...(range && !choices ? { domain: { type: 'range' as const, min: range[0], max: range[1] } } : {}),
    validation: rules,
  };
}

function listChoices({
  type,
  enumeration,
  codedValues,
}: Field): { code: unknown; label: string }[] | undefined {
  if (codedValues && codedValues.length > 0)
    return codedValues.map(({ code, name }) => ({ code, label: name }));
  if (enumeration && enumeration.length > 0)
    return enumeration.map((code) => ({ code, label: String(code) }));
  if (type !== 'boolean') return undefined;
  return [
    { code: 'true', label: 'Yes' },
    { code: 'false', label: 'No' },
  ];
}

function describePlace({ geometryType }: FormLayer): DraftField[] {
  const [type] = [...GEOMETRY_TYPES].filter((one) => FITTING_GEOMETRIES[one]?.includes(geometryType));
  return [
    { fieldId: 'location', label: 'Location', type: type!, required: true, readOnly: false, private: false },
  ];
}

/** The name of a column in the characters of ids. */
function fieldIdOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\w-]+/g, '_')
    .slice(0, 60);
  return /^[A-Za-z_]/.test(plain) ? plain : `_${plain}`;
}

/** The same fields with numbers after ids that another field has. */
function uniqueIds(fields: readonly DraftField[]): DraftField[] {
  const taken = new Set<string>();
  return fields.map((field) => {
    let { fieldId } = field;
    for (let number = 2; taken.has(fieldId); number++) fieldId = `${field.fieldId}_${number}`;
    taken.add(fieldId);
    return { ...field, fieldId };
  });
}
