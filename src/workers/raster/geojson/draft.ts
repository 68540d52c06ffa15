import type { ExportDraft, ExportFormat } from '../../../core/ogr.js';
import {
  noteTextTimes,
  noteTextValues,
  noteTruncatedNames,
  noteTruncatedText,
} from '../../../core/value-notes.js';
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
  const dataset = await openForms(path, ['GeoJSON'], forms);
  const texts = listNames(
    fields,
    ({ name, type }, i) =>
      isTime(draft.fields[i]!.type) && type !== draft.fields[i]!.type && facts.hasOtherText(name),
  );
  const misfits = listNames(draft.fields, ({ name, type }) => isMisfit(name, type, facts));
  const notes = [
    ...noteTextValues(misfits),
    ...facts.notes(forms, SHORT_FORMATS.has(format) ? 15 : 17),
    ...(format === 'KML' ? [] : noteTextTimes(texts)),
    ...(format === 'ESRI Shapefile' ? notesOfShapefile(fields, facts) : []),
  ];
  for (const note of notes) noteDataset(dataset, note);
  return { dataset, draft: { ...draft, fields } };
}

/** Formats whose numbers GDAL writes with 15 digits. */
const SHORT_FORMATS: ReadonlySet<ExportFormat> = new Set(['KML', 'ESRI Shapefile']);

const isTime = (type: FieldType) => type === 'date' || type === 'date-time';

type DraftField = ExportDraft['fields'][number];

const listNames = (fields: readonly DraftField[], has: (field: DraftField, at: number) => boolean) =>
  fields.filter(has).map(({ name }) => name);

/** Bytes of the name of a field. */
const MAX_DBF_NAME = 10;

const notesOfShapefile = (fields: readonly DraftField[], facts: PropertyFacts) => [
  ...noteTruncatedText(listNames(fields, ({ name }) => facts.hasLongText(name))),
  ...noteTruncatedNames(listNames(fields, ({ name }) => Buffer.byteLength(name) > MAX_DBF_NAME)),
];

interface FieldForm {
  form?: Form;
  /** The field becomes text. */
  isText?: boolean;
}

/** Whether a column has values of another type, as GeoPackages may have them: GDAL would make 0 of a text. */
function isMisfit(name: string, type: FieldType, facts: PropertyFacts): boolean {
  if (type === 'integer') return facts.hasStrings(name) || facts.hasNumbers(name, true);
  if (type === 'number') return facts.hasStrings(name);
  return isTime(type) && facts.hasNumbers(name);
}

function formFor({ name, type }: DraftField, facts: PropertyFacts, format: ExportFormat): FieldForm {
  if (NESTED.has(type)) return { form: 'quoted-json' };
  if (isMisfit(name, type, facts)) return { form: 'text', isText: true };
  if (type === 'number' && facts.isBeyondDoubles(name)) return { form: 'text', isText: true };
  if (type === 'number') return facts.hasLargeIntegers(name) ? { form: 'double' } : {};
  if (!isTime(type)) return {};
  // GDAL writes times as `2020/01/01 00:00:00+00` there; text stays ISO 8601, with all digits.
  if (format === 'KML') return { isText: true };
  // Years before 0000 and after 9999, and infinity.
  if (facts.hasOtherText(name)) return { isText: true };
  if (type === 'date' || !facts.hasFineTimes(name)) return {};
  // GDAL's GeoPackages have milliseconds; what is written as text, and then declared as a time, keeps all digits.
  return format === 'GPKG' ? { form: 'time', isText: true } : { form: 'milliseconds' };
}
