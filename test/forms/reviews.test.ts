import { afterEach, beforeEach, expect, it } from 'vitest';
import type { FormPackages } from '../../src/services/forms/form-packages.js';
import { FieldReviews, reviewTag } from '../../src/services/forms/reviews.js';
import type { SubmissionEdits } from '../../src/services/forms/submission-edits.js';
import type { FieldSubmissionRow } from '../../src/stores/forms/submissions.js';
import { describeStates, type TemporaryState } from '../support/state.js';

/** A layer that counts its edits, whose process can end after an edit. */
class FakeLayer {
  readonly applied: string[] = [];
  cursor = 7;
  dies = false;

  readCursor = async () => this.cursor;
  findApplied = async (_: unknown, row: FieldSubmissionRow, after: number) => {
    const index = this.applied.indexOf(row.id);
    return index >= 0 && 8 + index > after ? `feature ${index}` : undefined;
  };
  apply = async (_: unknown, row: FieldSubmissionRow) => {
    this.applied.push(row.id);
    this.cursor += 1;
    if (this.dies) throw new Error('the process was killed');
    return { ok: true as const, id: `feature ${this.applied.length - 1}` };
  };
}

const x = { timing: () => {} };
const submission = (id: string, change: Partial<FieldSubmissionRow> = {}): FieldSubmissionRow => ({
  ...{
    id,
    form_id: 'form',
    instance_id: id,
    fingerprint: 'f',
    form_version: 1,
    service_id: 'default',
    layer_id: 1,
  },
  ...{ operation: 'create', target_id: null, target_row: null, submitted_at: 1000, device_id: null },
  ...{ submitter_hash: null, submitter: 'sealed', sync_status: 'pending', has_conflict: 0, has_issues: 0 },
  ...{ values_json: '{}', geometry_json: null, issues_json: '[]', apply_cursor: null, feature_id: null },
  ...{ review_status: 'pending', assigned_to: null, decided_at: null, decided_by: null, decision_note: null },
  ...{ version: 1, updated_at: 1000 },
  ...change,
});

describeStates('reviews of submissions', (temporary) => {
  let t: TemporaryState;
  let layer: FakeLayer;
  let reviews: FieldReviews;
  beforeEach(async () => {
    t = await temporary();
    layer = new FakeLayer();
    const form = { privacyPolicy: { retentionDays: 30 } };
    reviews = new FieldReviews({
      store: t.state.fieldSubmissions,
      forms: {
        readVersion: async () => ({ body: { form } }),
        list: async () => [{ id: 'form', body: { published: 1, versions: 1 } }],
      } as unknown as FormPackages,
      edits: layer as unknown as SubmissionEdits,
    });
  });
  afterEach(() => t.close());

  const approve = (id: string, ifMatch?: readonly string[]) =>
    reviews.decide(x, id, { decision: 'approved', note: null, by: 'user:1', ifMatch });
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'ok',
      ({ code, message }: { code?: string; message: string }) => code ?? message,
    );

  it('completes an approval whose process ended after the edit, without a second edit', async () => {
    await t.state.fieldSubmissions.add(submission('a'));
    layer.dies = true;
    expect(await codeOf(approve('a'))).toBe('the process was killed');
    layer.dies = false;
    // Another process may still be at it.
    expect(await codeOf(approve('a'))).toBe('conflict');
    await t.run("UPDATE field_submissions SET updated_at = 0 WHERE id = 'a'");
    const row = await approve('a');
    expect(row).toMatchObject({ review_status: 'approved', sync_status: 'synced', feature_id: 'feature 0' });
    expect(row.submitter).toBeNull();
    expect(layer.applied).toEqual(['a']);
  });

  it('completes it as approved, also if the next decision is another one', async () => {
    await t.state.fieldSubmissions.add(submission('a'));
    layer.dies = true;
    await codeOf(approve('a'));
    await t.run("UPDATE field_submissions SET updated_at = 0 WHERE id = 'a'");
    const row = await reviews.decide(x, 'a', {
      decision: 'rejected',
      note: 'no',
      by: 'user:2',
      ifMatch: undefined,
    });
    expect(row.review_status).toBe('approved');
  });

  it('repeats an approval whose process ended before the edit', async () => {
    await t.state.fieldSubmissions.add(submission('a', { apply_cursor: 7 }));
    expect((await approve('a')).review_status).toBe('approved');
    expect(layer.applied).toEqual(['a']);
  });

  it('lets one of 16 decisions with the same tag pass', async () => {
    await t.state.fieldSubmissions.add(submission('a'));
    const tag = [reviewTag({ id: 'a', version: 1 })];
    const results = await Promise.all(Array.from({ length: 16 }, () => codeOf(approve('a', tag))));
    expect(results.toSorted()).toEqual([...Array(15).fill('conflict'), 'ok']);
    expect(layer.applied).toEqual(['a']);
  });

  it('keeps all comments of 16 reviewers at the same time', async () => {
    await t.state.fieldSubmissions.add(submission('a'));
    const comments = Array.from({ length: 16 }, (_, i) =>
      reviews.comment('a', { body: `comment ${i}`, isCorrection: i % 2 === 0, author: 'user:1' }),
    );
    await Promise.all(comments);
    expect(await reviews.listComments('a')).toHaveLength(16);
    expect((await reviews.read('a')).review_status).toBe('changes_requested');
  });

  it('removes decided submissions after their retention, with their comments', async () => {
    const now = Date.now();
    const day = 86_400_000;
    const { fieldSubmissions: store } = t.state;
    await store.add(submission('old', { review_status: 'approved', submitted_at: now - 31 * day }));
    await store.add(submission('open', { review_status: 'pending', submitted_at: now - 31 * day }));
    await store.add(submission('new', { review_status: 'approved', submitted_at: now - 29 * day }));
    for (const id of ['old', 'new'])
      await reviews.comment(id, { body: 'x', isCorrection: false, author: 'user:1' });
    await reviews.trim();
    const { rows } = await reviews.list({}, { limit: 10, offset: 0 });
    expect(rows.map(({ id }) => id)).toEqual(['new', 'open']);
    expect(
      [await reviews.listComments('old'), await reviews.listComments('new')].map((one) => one.length),
    ).toEqual([0, 1]);
  });

  it('lists pages without gaps and repetitions, and agrees with the pages of exports', async () => {
    const { fieldSubmissions: store } = t.state;
    for (let i = 0; i < 60; i++)
      await store.add(
        submission(`s${i}`, { submitted_at: Math.floor(i / 7), layer_id: i % 3, has_conflict: i % 2 }),
      );
    const filter = { layerId: 1, hasConflict: true, submittedFrom: 1, submittedTo: 7 };
    const expected = Array.from({ length: 60 }, (_, i) => i).filter(
      (i) => i % 3 === 1 && i % 2 === 1 && i >= 7 && i < 56,
    );
    const pages: string[] = [];
    for (let offset = 0; ; offset += 3) {
      const { rows, total } = await reviews.list(filter, { limit: 3, offset });
      expect(total).toBe(expected.length);
      if (rows.length === 0) break;
      pages.push(...rows.map(({ id }) => id));
    }
    const exported: FieldSubmissionRow[] = [];
    for (
      let page = await store.after(filter, undefined, 4);
      page.length > 0;
      page = await store.after(filter, exported.at(-1), 4)
    )
      exported.push(...page);
    expect(exported.map(({ id }) => id)).toEqual(pages.toReversed());
    expect(pages.toSorted()).toEqual(expected.map((i) => `s${i}`).toSorted());
  });
});
