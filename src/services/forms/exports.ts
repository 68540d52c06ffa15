import { randomUUID } from 'node:crypto';
import { ApiError } from '../../core/errors/errors.js';
import type { FormValues } from '../../core/forms/evaluate.js';
import type { FormDocument } from '../../core/forms/form-document.js';
import { FORM_LIMITS } from '../../core/forms/limits.js';
import { csvRecord } from '../../core/values/csv.js';
import type {
  FieldSubmissionRow,
  FieldSubmissionStore,
  SubmissionFilter,
} from '../../stores/forms/submissions.js';
import type { DocumentStore, StoredDocument } from '../../stores/state/documents.js';
import type { FormPackages } from './form-packages.js';

/** Kind of the records of exports in the state. */
const EXPORT = 'field export';

export type SubmissionFormat = 'geojson' | 'csv';

export interface ExportRecord {
  readonly format: SubmissionFormat;
  readonly recordCount: number;
  readonly requestedBy: string;
  readonly filter: string;
}

/** Submissions of a page while an export is written. */
const PAGE = 500;

/** Members of each record before its values. */
const COLUMNS = [
  'submissionId',
  'formId',
  'formVersion',
  'operation',
  'featureId',
  'submittedAt',
  'reviewStatus',
  'syncStatus',
] as const;

export interface FieldExportDeps {
  readonly documents: DocumentStore;
  readonly store: FieldSubmissionStore;
  readonly forms: FormPackages;
}

/** Files of submissions, and the list of files that were made. */
export class FieldExports {
  constructor(private readonly deps: FieldExportDeps) {}

  list(): Promise<StoredDocument<ExportRecord>[]> {
    return this.deps.documents.list<ExportRecord>(EXPORT);
  }

  /**
   * Writes the submissions that match, the oldest first. The values of all versions of a form have one column for each
   * field id. Fields that are private in any version are omitted. Throws `invalid-request` for too many submissions.
   */
  async create(
    filter: SubmissionFilter,
    { format, by }: { format: SubmissionFormat; by: string },
  ): Promise<{ id: string; count: number; body: Buffer }> {
    const rows = await this.#read(filter);
    const fields = await this.#listFields(rows);
    const body = format === 'csv' ? writeCsv(rows, fields) : writeGeoJson(rows, fields);
    const id = randomUUID();
    const record = { format, recordCount: rows.length, requestedBy: by, filter: JSON.stringify(filter) };
    await this.deps.documents.create<ExportRecord>(EXPORT, id, record, by);
    return { id, count: rows.length, body };
  }

  async #read(filter: SubmissionFilter): Promise<FieldSubmissionRow[]> {
    const rows: FieldSubmissionRow[] = [];
    for (;;) {
      const page = await this.deps.store.after(filter, rows.at(-1), PAGE);
      rows.push(...page);
      if (rows.length > FORM_LIMITS.exportedSubmissions)
        throw new ApiError(
          'invalid-request',
          `The filter matches more than ${FORM_LIMITS.exportedSubmissions} submissions. Narrow it by form or time.`,
        );
      if (page.length < PAGE) return rows;
    }
  }

  /** Ids of the fields of all forms of the rows, in all their versions, without private ones. */
  async #listFields(rows: readonly FieldSubmissionRow[]): Promise<string[]> {
    const fields = new Set<string>();
    for (const formId of new Set(rows.map(({ form_id }) => form_id))) {
      const versions = await this.deps.forms.listVersions(formId);
      const hidden = new Set(versions.flatMap(({ body }) => listPrivateFields(body.form)));
      for (const { body } of versions)
        for (const name of listValueNames(body.form)) if (!hidden.has(name)) fields.add(name);
    }
    return [...fields];
  }
}

/** Ids of the private fields of a form, and of repeatable sections with one. */
export function listPrivateFields({ fields, sections, privacyPolicy }: FormDocument): string[] {
  const own = fields.filter((field) => field.private).map(({ fieldId }) => fieldId);
  const hidden = [...own, ...privacyPolicy.privateFieldIds];
  const within = sections.filter(
    ({ repeatable, fieldIds }) => repeatable && fieldIds.some((id) => hidden.includes(id)),
  );
  return [...hidden, ...within.map(({ sectionId }) => sectionId)];
}

/** Names of the values of a form: its fields, and its repeatable sections in place of their fields. */
function listValueNames({ fields, sections }: FormDocument): string[] {
  const repeatable = sections.filter((section) => section.repeatable);
  const repeated = new Set(repeatable.flatMap(({ fieldIds }) => fieldIds));
  return [
    ...fields.map(({ fieldId }) => fieldId).filter((id) => !repeated.has(id)),
    ...repeatable.map(({ sectionId }) => sectionId),
  ];
}

const readHead = (row: FieldSubmissionRow): Record<(typeof COLUMNS)[number], string | number | null> => ({
  submissionId: row.id,
  formId: row.form_id,
  formVersion: row.form_version,
  operation: row.operation,
  featureId: row.feature_id ?? row.target_id,
  submittedAt: new Date(row.submitted_at).toISOString(),
  reviewStatus: row.review_status,
  syncStatus: row.sync_status,
});

function writeGeoJson(rows: readonly FieldSubmissionRow[], fields: readonly string[]): Buffer {
  const features = rows.map((row) => {
    const values = JSON.parse(row.values_json) as FormValues;
    const properties = {
      ...readHead(row),
      ...Object.fromEntries(fields.map((id) => [id, values[id] ?? null])),
    };
    return `{"type":"Feature","id":${JSON.stringify(row.id)},"geometry":${row.geometry_json ?? 'null'},"properties":${JSON.stringify(properties)}}`;
  });
  return Buffer.from(`{"type":"FeatureCollection","features":[${features.join(',')}]}`);
}

/** CSV (RFC 4180) with the geometry as GeoJSON. Text that a spreadsheet would compute starts with an apostrophe. */
function writeCsv(rows: readonly FieldSubmissionRow[], fields: readonly string[]): Buffer {
  const lines = rows.map((row) => {
    const head = readHead(row);
    const values = JSON.parse(row.values_json) as FormValues;
    const cells = [
      ...COLUMNS.map((name) => head[name]),
      row.geometry_json,
      ...fields.map((id) => values[id]),
    ];
    return csvRecord(cells.map(writeCell));
  });
  return Buffer.from(csvRecord([...COLUMNS, 'geometry', ...fields]) + lines.join(''));
}

function writeCell(value: unknown): string | number {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string' || typeof value === 'number') return value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
