import { ApiError, notFound } from '../../core/errors/errors.js';
import {
  completeForm,
  type FormDocument,
  type FormDraft,
  listPolicies,
} from '../../core/forms/form-document.js';
import { type FormIssue, type FormLayer, findFormIssues } from '../../core/forms/form-issues.js';
import { FORM_LIMITS } from '../../core/forms/limits.js';
import { canonical, computeFingerprint } from '../../core/values/fingerprint.js';
import type { DocumentStore, StoredDocument } from '../../stores/state/documents.js';

/** Kinds of documents in the state. */
const FORM = 'form';
const VERSION = 'form version';

type FormStatus = 'draft' | 'published' | 'archived';

/** A version as stored. Only drafts change. */
interface FormVersion {
  readonly formId: string;
  readonly version: number;
  readonly status: FormStatus;
  readonly form: FormDocument;
  readonly contentHash: string;
  readonly policyHash: string;
  readonly publishedAt: number | null;
  readonly publishedBy: string | null;
  readonly reopenedFrom: number | null;
}

export type StoredVersion = StoredDocument<FormVersion>;

/** The versions of a form. */
interface FormHead {
  /** Number of the newest version. Versions are numbered from 1 without gaps. */
  readonly versions: number;
  readonly draft: number | null;
  readonly published: number | null;
  readonly title: string;
  readonly serviceId: string | null;
  readonly layerId: number;
}

export type StoredHead = StoredDocument<FormHead>;

export interface FormPackageDeps {
  readonly documents: DocumentStore;
  /** The layer that a form collects data for, undefined if it has no features. */
  findLayer(layerId: number): FormLayer | undefined;
}

/** Thrown if a form with errors is published. */
export class InvalidForm extends Error {
  constructor(readonly issues: readonly FormIssue[]) {
    super('The form has errors.');
  }
}

/**
 * Forms and their versions. A form has at most one draft and at most one published version. A published version never
 * changes again. All changes of a form are serialised over all servers.
 */
export class FormPackages {
  constructor(private readonly deps: FormPackageDeps) {}

  list(): Promise<StoredHead[]> {
    return this.deps.documents.list<FormHead>(FORM);
  }

  /** The published version, or the draft if none is published. Throws `not-found`. */
  async readCurrent(formId: string): Promise<StoredVersion> {
    const { documents } = this.deps;
    const head = await requireHead(documents, formId);
    return requireVersion(documents, formId, head.body.published ?? head.body.draft ?? head.body.versions);
  }

  /** All versions, the oldest first. Throws `not-found`. */
  async listVersions(formId: string): Promise<StoredVersion[]> {
    const { documents } = this.deps;
    const { body } = await requireHead(documents, formId);
    const keys = Array.from({ length: body.versions }, (_, index) => versionKey(formId, index + 1));
    const found = await documents.find<FormVersion>(VERSION, keys);
    return found.sort((a, b) => a.body.version - b.body.version);
  }

  readVersion(formId: string, version: number): Promise<StoredVersion> {
    return requireVersion(this.deps.documents, formId, version);
  }

  /** Problems of a form, as of the layer of now. */
  findIssues(form: FormDocument): FormIssue[] {
    return findFormIssues(form, this.deps.findLayer(form.target.layerId));
  }

  /** Creates a form with its first draft. Throws `conflict` if the form exists. */
  async create(draft: FormDraft, formId: string, by: string): Promise<StoredVersion> {
    const form = completeForm(draft, formId);
    return this.#inTurn(formId, async (store) => {
      const forms = await store.list(FORM);
      if (forms.length >= FORM_LIMITS.forms)
        throw new ApiError('conflict', `The server has ${FORM_LIMITS.forms} forms, which is the maximum.`);
      await store.create<FormHead>(
        FORM,
        formId,
        describeHead(form, { versions: 1, draft: 1, published: null }),
        by,
      );
      return store.create(VERSION, versionKey(formId, 1), newVersion(form, 1, null), by);
    });
  }

  /**
   * Replaces the draft. Throws `not-found`, and `conflict` if the version is not a draft or has changed since
   * the state that `ifMatch` names.
   */
  async update(
    formId: string,
    version: number,
    draft: FormDraft,
    { by, ifMatch }: { by: string; ifMatch: readonly string[] | undefined },
  ): Promise<StoredVersion> {
    const form = completeForm(draft, formId);
    return this.#inTurn(formId, async (store) => {
      const before = await requireVersion(store, formId, version);
      requireDraft(before.body);
      if (ifMatch && !ifMatch.includes(before.etag))
        throw new ApiError(
          'conflict',
          'The draft has changed since it was read. Read it again, and repeat the change.',
        );
      await store.update<FormHead>(FORM, formId, by, (body) => describeHead(form, body));
      return store.update<FormVersion>(VERSION, versionKey(formId, version), by, () =>
        newVersion(form, version, before.body.reopenedFrom),
      );
    });
  }

  /**
   * Publishes a draft. The version that was published is archived. Throws `not-found`, `conflict` if the
   * version is not a draft, and `InvalidForm` if the form has errors.
   */
  async publish(formId: string, version: number, by: string): Promise<StoredVersion> {
    return this.#inTurn(formId, async (store) => {
      const head = await requireHead(store, formId);
      const { body } = await requireVersion(store, formId, version);
      requireDraft(body);
      const issues = this.findIssues(body.form);
      if (issues.some(({ severity }) => severity === 'error')) throw new InvalidForm(issues);
      const { published } = head.body;
      if (published !== null)
        await store.update<FormVersion>(VERSION, versionKey(formId, published), by, (old) => ({
          ...old,
          status: 'archived',
        }));
      await store.update<FormHead>(FORM, formId, by, (old) => ({
        ...describeHead(body.form, old),
        draft: null,
        published: version,
      }));
      return store.update<FormVersion>(VERSION, versionKey(formId, version), by, (old) => ({
        ...old,
        ...{ status: 'published', publishedAt: Date.now(), publishedBy: by },
      }));
    });
  }

  /** Copies a version to a new draft. Throws `not-found`, and `conflict` if the form has a draft. */
  async reopen(formId: string, version: number, by: string): Promise<StoredVersion> {
    return this.#inTurn(formId, async (store) => {
      const head = await requireHead(store, formId);
      const { body } = await requireVersion(store, formId, version);
      if (head.body.draft !== null)
        throw new ApiError(
          'conflict',
          `The version ${head.body.draft} is a draft. Change or publish it first.`,
        );
      if (head.body.versions >= FORM_LIMITS.versions)
        throw new ApiError(
          'conflict',
          `The form has ${FORM_LIMITS.versions} versions, which is the maximum.`,
        );
      const next = head.body.versions + 1;
      await store.update<FormHead>(FORM, formId, by, (old) => ({ ...old, versions: next, draft: next }));
      return store.create(VERSION, versionKey(formId, next), newVersion(body.form, next, version), by);
    });
  }

  #inTurn<T>(formId: string, work: (store: DocumentStore) => Promise<T>): Promise<T> {
    return this.deps.documents.together([FORM, formId], work);
  }
}

const versionKey = (formId: string, version: number) => `${formId}/${version}`;

function newVersion(form: FormDocument, version: number, reopenedFrom: number | null): FormVersion {
  return {
    ...{
      formId: form.formId,
      version,
      status: 'draft',
      form,
      reopenedFrom,
      publishedAt: null,
      publishedBy: null,
    },
    contentHash: computeFingerprint(canonical(form)),
    policyHash: computeFingerprint(canonical(listPolicies(form))),
  };
}

function describeHead(
  { title, target }: FormDocument,
  { versions, draft, published }: Pick<FormHead, 'versions' | 'draft' | 'published'>,
): FormHead {
  return { versions, draft, published, title, serviceId: target.serviceId, layerId: target.layerId };
}

async function requireHead(documents: DocumentStore, formId: string): Promise<StoredHead> {
  const head = await documents.get<FormHead>(FORM, formId);
  if (!head) throw notFound('form', formId);
  return head;
}

async function requireVersion(
  documents: DocumentStore,
  formId: string,
  version: number,
): Promise<StoredVersion> {
  const found = await documents.get<FormVersion>(VERSION, versionKey(formId, version));
  if (!found) throw new ApiError('not-found', `There is no version ${version} of the form '${formId}'.`);
  return found;
}

function requireDraft({ status, version }: FormVersion): void {
  if (status === 'draft') return;
  throw new ApiError(
    'conflict',
    `The version ${version} is ${status} and cannot change. Reopen it as a new draft.`,
  );
}
