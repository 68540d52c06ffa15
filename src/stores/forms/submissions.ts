import type { ExpressionBuilder, Selectable, Updateable } from 'kysely';
import { auditResource } from '../audit/audit-scope.js';
import { runInTransaction, type StateDb } from '../schema/database.js';
import type { FieldCommentTable, FieldSubmissionTable } from '../schema/field-tables.js';
import type { StateTables } from '../schema/schema.js';
import { acquireLock } from '../schema/vocabulary.js';

export type FieldSubmissionRow = Selectable<FieldSubmissionTable>;
export type FieldCommentRow = Selectable<FieldCommentTable>;

/** Conditions of a list. Times are milliseconds since 1970, the end included. */
export interface SubmissionFilter {
  readonly reviewStatus?: string;
  readonly syncStatus?: string;
  readonly assignedTo?: string;
  readonly formId?: string;
  readonly serviceId?: string;
  readonly layerId?: number;
  readonly hasConflict?: boolean;
  readonly submittedFrom?: number;
  readonly submittedTo?: number;
}

/** A change of a row, if it has a version. */
export type SubmissionChange = Omit<Updateable<FieldSubmissionTable>, 'id' | 'version' | 'updated_at'>;

/** Submissions of forms, their reviews and comments. */
export class FieldSubmissionStore {
  constructor(private readonly db: StateDb) {}

  /** Returns the stored row: the new one, or an earlier one with the same instance. */
  add(row: FieldSubmissionRow): Promise<{ row: FieldSubmissionRow; isNew: boolean }> {
    return runInTransaction(this.db, async (trx) => {
      await acquireLock(trx, 'field submission', row.form_id, row.instance_id);
      const earlier = await find(trx, row.form_id, row.instance_id);
      if (earlier) return { row: earlier, isNew: false };
      await trx.insertInto('field_submissions').values(row).execute();
      auditResource(row.id, { formId: row.form_id });
      return { row, isNew: true };
    });
  }

  get(id: string): Promise<FieldSubmissionRow | undefined> {
    return this.db.selectFrom('field_submissions').selectAll().where('id', '=', id).executeTakeFirst();
  }

  findInstance(formId: string, instanceId: string): Promise<FieldSubmissionRow | undefined> {
    return find(this.db, formId, instanceId);
  }

  /** A page of the submissions that match, the newest first, and the number of all that match. */
  async page(
    filter: SubmissionFilter,
    { limit, offset }: { limit: number; offset: number },
  ): Promise<{ rows: FieldSubmissionRow[]; total: number }> {
    const matching = this.db.selectFrom('field_submissions').where((e) => e.and(listConditions(e, filter)));
    const [rows, { total }] = await Promise.all([
      matching
        .selectAll()
        .orderBy('submitted_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit)
        .offset(offset)
        .execute(),
      matching.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(total) };
  }

  /** The submissions that match, the oldest first, after a submission. */
  after(
    filter: SubmissionFilter,
    last: Pick<FieldSubmissionRow, 'submitted_at' | 'id'> | undefined,
    limit: number,
  ): Promise<FieldSubmissionRow[]> {
    return this.db
      .selectFrom('field_submissions')
      .selectAll()
      .where((e) => e.and(listConditions(e, filter)))
      .$if(last !== undefined, (q) =>
        q.where((w) =>
          w.or([
            w('submitted_at', '>', last!.submitted_at),
            w.and([w('submitted_at', '=', last!.submitted_at), w('id', '>', last!.id)]),
          ]),
        ),
      )
      .orderBy('submitted_at')
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /** Changes a submission that still has a version. Undefined if it has another one. */
  async change(
    id: string,
    version: number,
    change: SubmissionChange,
  ): Promise<FieldSubmissionRow | undefined> {
    const row = await this.db
      .updateTable('field_submissions')
      .set({ ...change, version: version + 1, updated_at: Date.now() })
      .where('id', '=', id)
      .where('version', '=', version)
      .returningAll()
      .executeTakeFirst();
    if (row) auditResource(id, { reviewStatus: row.review_status });
    return row;
  }

  /** Removes up to 500 decided submissions of a form that are older than a time, with their comments. Returns their number. */
  removeDecided(formId: string, before: number): Promise<number> {
    return runInTransaction(this.db, async (trx) => {
      const rows = await trx
        .selectFrom('field_submissions')
        .select('id')
        .where('form_id', '=', formId)
        .where('submitted_at', '<', before)
        .where('review_status', 'in', ['approved', 'rejected'])
        .limit(500)
        .execute();
      const ids = ['', ...rows.map(({ id }) => id)];
      await trx.deleteFrom('field_comments').where('submission_id', 'in', ids).execute();
      await trx.deleteFrom('field_submissions').where('id', 'in', ids).execute();
      return rows.length;
    });
  }

  comments(submissionId: string): Promise<FieldCommentRow[]> {
    return this.db
      .selectFrom('field_comments')
      .selectAll()
      .where('submission_id', '=', submissionId)
      .orderBy('created_at')
      .orderBy('id')
      .execute();
  }

  /** Adds a comment, and changes the submission in the same transaction. False if the submission has another version. */
  addComment(
    comment: FieldCommentRow,
    version: number,
    change: SubmissionChange | undefined,
  ): Promise<boolean> {
    return runInTransaction(this.db, async (trx) => {
      if (change && !(await new FieldSubmissionStore(trx).change(comment.submission_id, version, change)))
        return false;
      await trx.insertInto('field_comments').values(comment).execute();
      auditResource(comment.submission_id, { commentId: comment.id });
      return true;
    });
  }
}

const find = (db: StateDb, formId: string, instanceId: string) =>
  db
    .selectFrom('field_submissions')
    .selectAll()
    .where('form_id', '=', formId)
    .where('instance_id', '=', instanceId)
    .executeTakeFirst();

function listConditions(e: ExpressionBuilder<StateTables, 'field_submissions'>, filter: SubmissionFilter) {
  const { reviewStatus, syncStatus, assignedTo, formId, serviceId, layerId } = filter;
  const { hasConflict, submittedFrom, submittedTo } = filter;
  return [
    ...(reviewStatus === undefined ? [] : [e('review_status', '=', reviewStatus)]),
    ...(syncStatus === undefined ? [] : [e('sync_status', '=', syncStatus)]),
    ...(assignedTo === undefined ? [] : [e('assigned_to', '=', assignedTo)]),
    ...(formId === undefined ? [] : [e('form_id', '=', formId)]),
    ...(serviceId === undefined ? [] : [e('service_id', '=', serviceId)]),
    ...(layerId === undefined ? [] : [e('layer_id', '=', layerId)]),
    ...(hasConflict === undefined ? [] : [e('has_conflict', '=', hasConflict ? 1 : 0)]),
    ...(submittedFrom === undefined ? [] : [e('submitted_at', '>=', submittedFrom)]),
    ...(submittedTo === undefined ? [] : [e('submitted_at', '<=', submittedTo)]),
  ];
}
