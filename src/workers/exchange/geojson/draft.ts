import type { ExportDraft, ExportDriver } from '../../../core/exchange/ogr.js';
import {
  noteDatesAsTimes,
  noteDecimalIntegers,
  noteMisfitText,
  noteTextTimes,
  noteTruncatedNames,
  noteTruncatedText,
} from '../../../core/features/value-notes.js';
import type { FieldType } from '../../../core/sources/vector-source.js';
import { noteDataset } from '../../gdal/dataset-notes.js';
import type { Dataset } from '../../gdal/gdal.js';
import { openForms, readFacts } from './open.js';
import type { Form, PropertyFacts } from './values.js';

interface OpenDraft {
  dataset: Dataset;
  /** With the types that its values have. */
  draft: ExportDraft;
}

const NESTED: ReadonlySet<FieldType> = new Set(['json', 'array']);

/**
 * Opens GeoJSON that was written as a draft. Values that the format's types cannot represent have another form or
 * become text.
 */
export async function openExportDraft(
  path: string,
  draft: ExportDraft,
  format: ExportDriver,
): Promise<OpenDraft> {
  const facts = await readFacts(path);
  const forms = new Map<string, Form>();
  const fields = draft.fields.map((field) => {
    const { form, type } = formFor(field, facts, format);
    if (form) forms.set(field.name, form);
    return type === undefined ? field : { ...field, type };
  });
  const dataset = await openForms(path, ['GeoJSON'], forms);
  const changed = draft.fields.filter(({ type }, i) => type !== fields[i]!.type);
  const texts = listNames(changed, (field) => isTime(field.type) && isMisfitTime(field, facts));
  const misfits = listNames(changed, ({ name, type }) => !isTime(type) && isMisfit(name, type, facts));
  const decimals = fields.filter(({ type }) => type === 'number').map(({ name }) => name);
  const notes = [
    ...facts.notes(forms, SHORT_FORMATS.has(format) ? 15 : 17),
    ...(format === 'KML' ? [] : noteTextTimes(texts)),
    ...(format === 'FlatGeobuf' ? noteDatesAsTimes(listNames(fields, ({ type }) => type === 'date')) : []),
    ...noteMisfitText(misfits),
    ...noteDecimalIntegers(listNames(changed, ({ name }) => decimals.includes(name))),
    ...(format === 'ESRI Shapefile' ? notesOfShapefile(fields, facts) : []),
  ];
  for (const note of notes) noteDataset(dataset, note);
  return { dataset, draft: { ...draft, fields } };
}

/** Formats whose numbers GDAL writes with 15 digits. */
const SHORT_FORMATS: ReadonlySet<ExportDriver> = new Set(['KML', 'ESRI Shapefile']);

const isTime = (type: FieldType) => type === 'date' || type === 'date-time';

type DraftField = ExportDraft['fields'][number];

const listNames = (fields: readonly DraftField[], has: (field: DraftField) => boolean) =>
  fields.filter(has).map(({ name }) => name);

/** Bytes of the name of a field. */
const MAX_DBF_NAME = 10;

const notesOfShapefile = (fields: readonly DraftField[], facts: PropertyFacts) => [
  ...noteTruncatedText(listNames(fields, ({ name }) => facts.hasLongText(name))),
  ...noteTruncatedNames(listNames(fields, ({ name }) => Buffer.byteLength(name) > MAX_DBF_NAME)),
];

interface FieldForm {
  form?: Form;
  /** Type that replaces the type of the field. */
  type?: FieldType;
}

const TEXT: FieldForm = { form: 'text', type: 'string' };

const isMisfitTime = ({ name, type }: DraftField, facts: PropertyFacts) =>
  facts.hasOtherText(name) || facts.canHaveIntegerIds(name) || (type === 'date' && facts.hasTimesOfDay(name));

/** Whether a property of numbers or booleans has other values: SQLite stores them in any column. */
function isMisfit(name: string, type: FieldType, facts: PropertyFacts): boolean {
  if (type === 'integer' || type === 'number') return facts.hasOtherThanNumbers(name);
  return type === 'boolean' && facts.hasOtherThanBooleans(name);
}

function formFor({ name, type }: DraftField, facts: PropertyFacts, format: ExportDriver): FieldForm {
  if (NESTED.has(type)) return { form: 'quoted-json' };
  if (isMisfit(name, type, facts)) return TEXT;
  if (type === 'number' && facts.isBeyondDoubles(name)) return TEXT;
  if (type === 'number') return facts.hasLargeIntegers(name) ? { form: 'double' } : {};
  if (type === 'integer' && facts.hasDecimals(name))
    return facts.hasLargeIntegers(name) ? TEXT : { type: 'number' };
  if (!isTime(type)) return {};
  if (facts.canHaveIntegerIds(name)) return TEXT;
  // GDAL writes times as `2020/01/01 00:00:00+00` there; text stays ISO 8601, with all digits.
  if (format === 'KML') return { type: 'string' };
  // Years before 0000 and after 9999, infinity, days that no month has, and times in a column of dates.
  if (isMisfitTime({ name, type }, facts)) return { type: 'string' };
  if (type === 'date' || !facts.hasFineTimes(name)) return {};
  // GDAL's GeoPackages have milliseconds. Values that are written as text, and then declared as times, keep all
  // digits.
  return format === 'GPKG' ? { form: 'time', type: 'string' } : { form: 'milliseconds' };
}
