import type { ExportDraft, ExportFormat } from '../../../core/ogr.js';
import type { FieldType } from '../../../core/vector-source.js';
import { noteDataset } from '../dataset-notes.js';
import type { Dataset } from '../gdal.js';
import { openForms, readFacts } from './open.js';
import type { Form, PropertyFacts } from './values.js';

interface OpenDraft {
  dataset: Dataset;
  /** With the types that its values have. */
  draft: ExportDraft;
}

const NESTED: ReadonlySet<FieldType> = new Set(['json', 'array']);

/** Opens GeoJSON that was written as a draft. Values that the types of the format cannot hold have another form, or are text. */
export async function openDraft(path: string, draft: ExportDraft, format: ExportFormat): Promise<OpenDraft> {
  const facts = await readFacts(path);
  const forms = new Map<string, Form>();
  const fields = draft.fields.map((field) => {
    const { form, isText } = formFor(field, facts, format);
    if (form) forms.set(field.name, form);
    return isText ? { ...field, type: 'string' as const } : field;
  });
  const dataset = await openForms(path, 'GeoJSON', forms);
  for (const note of [...facts.notes(forms), ...noteOfDates(draft, fields, facts)])
    noteDataset(dataset, note);
  return { dataset, draft: { ...draft, fields } };
}

const isTime = (type: FieldType) => type === 'date' || type === 'date-time';

function noteOfDates(before: ExportDraft, fields: ExportDraft['fields'], facts: PropertyFacts): string[] {
  const names = before.fields.flatMap(({ name, type }, i) =>
    isTime(type) && fields[i]!.type === 'string' && facts.hasOtherText(name) ? [name] : [],
  );
  return names.length === 0
    ? []
    : [`Times that the format does not have: the values of these properties are text: ${names.join(', ')}.`];
}

interface FieldForm {
  form?: Form;
  /** The field becomes text. */
  isText?: boolean;
}

function formFor(
  { name, type }: ExportDraft['fields'][number],
  facts: PropertyFacts,
  format: ExportFormat,
): FieldForm {
  if (NESTED.has(type)) return { form: 'json' };
  if (type === 'number')
    return facts.isBeyondDoubles(name) ? { form: 'text', isText: true } : { form: 'double' };
  if (!isTime(type)) return {};
  // Years before 0000 and after 9999, and infinity.
  if (facts.hasOtherText(name)) return { isText: true };
  if (type === 'date' || !facts.hasFineTimes(name)) return {};
  // GDAL's GeoPackages have milliseconds; what is written as text, and then declared as a time, keeps all digits.
  return format === 'GPKG' ? { form: 'time', isText: true } : { form: 'milliseconds' };
}
