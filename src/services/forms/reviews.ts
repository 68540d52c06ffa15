import { randomUUID } from 'node:crypto';
import { ApiError, notFound } from '../../core/errors/errors.js';
import type {
  FieldCommentRow,
  FieldSubmissionRow,
  FieldSubmissionStore,
  SubmissionChange,
  SubmissionFilter,
} from '../../stores/forms/submissions.js';
import type { TaskContext } from '../kit/run-task.js';
import type { FormPackages } from './form-packages.js';
import type { SubmissionEdits } from './submission-edits.js';

export type ReviewDecision = 'approved' | 'rejected' | 'changes_requested';

export interface ReviewDeps {
  readonly store: FieldSubmissionStore;
  readonly forms: FormPackages;
  readonly edits: SubmissionEdits;
}

const DAY_MS = 86_400_000;

/** Time for which an approval has a submission. After it, another approval assumes that its process ended. */
const APPLY_MS = 60_000;

/** Maximum attempts of a change while other callers change the same submission. */
const ATTEMPTS = 20;

/** Entity tag of a review. */
export const reviewTag = ({ id, version }: Pick<FieldSubmissionRow, 'id' | 'version'>): string =>
  `${id.slice(0, 8)}-${version}`;

/** Review of submissions: assignment, comments and decisions. */
export class FieldReviews {
  constructor(private readonly deps: ReviewDeps) {}

  list(filter: SubmissionFilter, page: { limit: number; offset: number }) {
    return this.deps.store.page(filter, page);
  }

  /** Throws `not-found`. */
  async read(id: string): Promise<FieldSubmissionRow> {
    const row = await this.deps.store.get(id);
    if (!row) throw notFound('submission', id);
    return row;
  }

  listComments(id: string): Promise<FieldCommentRow[]> {
    return this.deps.store.comments(id);
  }

  /** Assigns a submission to a reviewer, or to none. A pending one is in review then. Throws `not-found`. */
  assign(id: string, assignee: string | null): Promise<FieldSubmissionRow> {
    return this.#change(id, ({ review_status }) => ({
      assigned_to: assignee,
      ...(review_status === 'pending' && assignee !== null ? { review_status: 'in_review' } : {}),
    }));
  }

  /** Adds a comment. A request for corrections returns an open submission to its submitter. Throws `not-found`. */
  async comment(
    id: string,
    { body, isCorrection, author }: { body: string; isCorrection: boolean; author: string },
  ): Promise<FieldCommentRow> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = await this.read(id);
      if (isCorrection) requireOpen(row);
      const comment = {
        ...{ id: randomUUID(), submission_id: id, author, body },
        ...{ correction_request: isCorrection ? 1 : 0, created_at: Date.now() },
      };
      const change = isCorrection ? { review_status: 'changes_requested' } : undefined;
      if (await this.deps.store.addComment(comment, row.version, change)) return comment;
    }
    throw createBusyError();
  }

  /**
   * Decides about a submission. An approval applies its edit first, in the name of the submitter. Throws `conflict` for a
   * stale tag, for a decided submission, and if the layer refuses the edit. A refused edit changes no feature.
   */
  async decide(
    x: TaskContext,
    id: string,
    {
      decision,
      note,
      by,
      ifMatch,
    }: { decision: ReviewDecision; note: string | null; by: string; ifMatch: readonly string[] | undefined },
  ): Promise<FieldSubmissionRow> {
    const row = await this.read(id);
    if (ifMatch && !ifMatch.includes(reviewTag(row))) throw createStaleError();
    requireOpen(row);
    if (row.apply_cursor !== null && Date.now() - row.updated_at < APPLY_MS)
      throw new ApiError('conflict', 'Another approval of the submission is in progress. Retry in a minute.');
    const decided = { decided_at: Date.now(), decided_by: by, decision_note: note };
    const applied = await this.#findApplied(x, row);
    if (applied !== undefined) return this.#finish(id, decided, applied);
    if (decision === 'approved') return this.#approve(x, row, decided);
    return this.#replace(row, {
      ...decided,
      review_status: decision,
      apply_cursor: null,
      ...(decision === 'rejected' ? { sync_status: 'rejected', submitter: null } : {}),
    });
  }

  /** Removes decided submissions that are older than the retention of the newest version of their form. */
  async trim(): Promise<void> {
    for (const { id: formId, body: head } of await this.deps.forms.list()) {
      const { body } = await this.deps.forms.readVersion(formId, head.published ?? head.versions);
      const { retentionDays } = body.form.privacyPolicy;
      if (retentionDays === null) continue;
      const before = Date.now() - retentionDays * DAY_MS;
      while ((await this.deps.store.removeDecided(formId, before)) > 0);
    }
  }

  /** Feature of an approval that was interrupted after its edit. */
  #findApplied(x: TaskContext, row: FieldSubmissionRow): Promise<string | undefined> {
    if (row.apply_cursor === null) return Promise.resolve(undefined);
    return this.deps.edits.findApplied(x, row, row.apply_cursor);
  }

  async #approve(
    x: TaskContext,
    row: FieldSubmissionRow,
    decided: SubmissionChange,
  ): Promise<FieldSubmissionRow> {
    const { forms, edits } = this.deps;
    if (row.has_conflict === 1 && row.target_row === null && row.operation !== 'create')
      throw createConflictError('The feature had changed before the submission arrived.');
    const { body } = await forms.readVersion(row.form_id, row.form_version);
    // The cursor is stored before the edit: after a crash, the events behind it show whether the edit was committed.
    const claimed = await this.#replace(row, { apply_cursor: await edits.readCursor(x, row.layer_id) });
    let problem: string;
    try {
      const outcome = await edits.apply(x, claimed, body.form);
      if (outcome.ok) return await this.#finish(row.id, decided, outcome.id);
      const isConflict = outcome.reason === 'changed' || outcome.reason === 'not-found';
      await this.#change(row.id, () => ({
        apply_cursor: null,
        ...(isConflict ? { has_conflict: 1 } : { sync_status: 'failed' }),
      }));
      problem = outcome.message;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      await this.#change(row.id, () => ({ apply_cursor: null, sync_status: 'failed' }));
      problem = error.message;
    }
    throw createConflictError(problem);
  }

  #finish(id: string, decided: SubmissionChange, featureId: string): Promise<FieldSubmissionRow> {
    return this.#change(id, () => ({
      ...decided,
      ...{ review_status: 'approved', sync_status: 'synced', has_conflict: 0 },
      ...{ feature_id: featureId, submitter: null, apply_cursor: null },
    }));
  }

  /** Changes a row in the state in which it was read. Throws `conflict` if it has changed. */
  async #replace(row: FieldSubmissionRow, change: SubmissionChange): Promise<FieldSubmissionRow> {
    const changed = await this.deps.store.change(row.id, row.version, change);
    if (!changed) throw createStaleError();
    return changed;
  }

  async #change(
    id: string,
    change: (row: FieldSubmissionRow) => SubmissionChange,
  ): Promise<FieldSubmissionRow> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const row = await this.read(id);
      const changed = await this.deps.store.change(id, row.version, change(row));
      if (changed) return changed;
    }
    throw createBusyError();
  }
}

function requireOpen({ review_status: status }: FieldSubmissionRow): void {
  if (status !== 'approved' && status !== 'rejected') return;
  throw new ApiError('conflict', `The submission is already ${status}.`);
}

const createStaleError = () =>
  new ApiError(
    'conflict',
    'The submission has changed since it was read. Read it again, and repeat the decision.',
  );

const createBusyError = () =>
  new ApiError('conflict', 'The submission is changed by many callers at the same time. Retry.');

const createConflictError = (why: string) =>
  new ApiError(
    'conflict',
    `The edit of the submission was not applied, and the feature is unchanged. ${why}`,
  );
