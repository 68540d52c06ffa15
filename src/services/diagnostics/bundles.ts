import { randomUUID } from 'node:crypto';
import type { BundleHead, BundleVerdict, ContentClassification } from '../../core/diagnostics/bundle.js';
import { ApiError, fieldFailure } from '../../core/errors/errors.js';
import type { Pools, TaskOptions } from '../../core/tasks/tasks.js';
import type { AuditStore } from '../../stores/audit/audit.js';
import type {
  DiagnosticBundleQuery,
  DiagnosticBundleRow,
  DiagnosticBundleStore,
} from '../../stores/diagnostics/bundles.js';
import type { StateCipher } from '../access/keys/state-cipher.js';

interface DiagnosticBundlesDeps {
  readonly store: DiagnosticBundleStore;
  readonly audit: Pick<AuditStore, 'append'>;
  readonly pools: Pick<Pools, 'run'>;
  readonly sealing: StateCipher;
  /** Days for which a bundle is kept. */
  readonly days: number;
  /** Maximum number of bundles. */
  readonly count: number;
  now?(): number;
}

/** A bundle without its envelopes. */
export interface StoredBundle extends BundleHead {
  readonly id: string;
  readonly receivedAt: number;
  readonly receivedBy: string;
  readonly expiresAt: number;
  readonly envelopeCount: number;
  readonly correlationIds: readonly string[];
  /** Whether the state has it encrypted. */
  readonly isEncrypted: boolean;
}

/** Members of `head_json`. */
type KeptHead = Omit<BundleHead, 'digest' | 'classification'> & {
  readonly correlationIds: readonly string[];
};

const DAY_MS = 86_400_000;
const OPEN = 'open:';

/** Diagnostic bundles that clients submit for support. They are validated, scanned for secrets, and kept for a time. */
export class DiagnosticBundles {
  constructor(private readonly deps: DiagnosticBundlesDeps) {}

  /** Stores a bundle. Throws `invalid-body` for one that breaks a rule, and `conflict` if there are too many. */
  async add(parts: Uint8Array<ArrayBuffer>[], by: string, options: TaskOptions): Promise<StoredBundle> {
    const verdict = await this.deps.pools.run('diagnostics.bundle', { parts }, options);
    if ('errors' in verdict) throw fieldFailure('invalid-body', verdict.errors);
    await this.expire();
    const row = this.#row(verdict, by);
    const { count, store } = this.deps;
    const contents = this.#contents(verdict.envelopes, verdict.head.classification);
    if (!(await store.add(row, contents, count)))
      throw new ApiError(
        'conflict',
        `The server has ${count} diagnostic bundles, which is the maximum. Delete one, or raise diagnostics.bundles.count.`,
      );
    return this.#view(row);
  }

  #row({ head, envelopes, correlationIds }: Extract<BundleVerdict, { head: unknown }>, by: string) {
    const { digest, classification, ...kept } = head;
    const headJson = JSON.stringify({ ...kept, correlationIds } satisfies KeptHead);
    return {
      id: randomUUID(),
      received_at: this.#now(),
      received_by: by,
      head_json: this.#protect(headJson, classification),
      classification,
      digest,
      envelope_count: envelopes.length,
    };
  }

  /** One envelope at a time, so that the event loop runs between them. */
  *#contents(envelopes: readonly Uint8Array[], classification: ContentClassification): Generator<string> {
    for (const envelope of envelopes)
      yield this.#protect(
        Buffer.from(envelope.buffer, envelope.byteOffset, envelope.byteLength).toString(),
        classification,
      );
  }

  #protect(text: string, classification: ContentClassification): string {
    return classification === 'secret-suspected' ? this.deps.sealing.seal(text) : OPEN + text;
  }

  #open(text: string): string {
    return text.startsWith(OPEN) ? text.slice(OPEN.length) : this.deps.sealing.open(text);
  }

  async list(query: Omit<DiagnosticBundleQuery, 'since'>): Promise<StoredBundle[]> {
    const rows = await this.deps.store.list({ ...query, since: this.#since() });
    return rows.map((row) => this.#view(row));
  }

  async get(id: string): Promise<StoredBundle | undefined> {
    const row = await this.deps.store.get(id, this.#since());
    return row && this.#view(row);
  }

  /** JSON of each envelope. Ends early if the bundle is deleted. */
  async *envelopes({ id, envelopeCount }: StoredBundle): AsyncGenerator<string> {
    for (let ordinal = 0; ordinal < envelopeCount; ordinal++) {
      const content = await this.deps.store.envelope(id, ordinal);
      if (content === undefined) throw new Error(`diagnostic bundle ${id} was deleted while it was read`);
      yield this.#open(content);
    }
  }

  /** Returns whether it existed. */
  remove(id: string): Promise<boolean> {
    return this.deps.store.remove(id, this.#since());
  }

  /** Deletes bundles whose time has passed, and records it. */
  async expire(): Promise<void> {
    const ids = await this.deps.store.expire(this.#since());
    if (ids.length === 0) return;
    await this.deps.audit.append({
      at: this.#now(),
      event_type: 'DataDelete',
      action: 'admin.diagnostics.expireBundles',
      actor: 'system',
      actor_type: 'System',
      outcome: 'Success',
      resource_type: 'diagnostics',
      resource_id: ids.length === 1 ? ids[0]! : null,
      correlation_id: '-',
      remote_ip: null,
      user_agent: null,
      details: JSON.stringify({ count: ids.length, days: this.deps.days, bundleIds: ids.slice(0, 100) }),
    });
  }

  #view(row: DiagnosticBundleRow): StoredBundle {
    const head = JSON.parse(this.#open(row.head_json)) as KeptHead;
    return {
      ...head,
      id: row.id,
      receivedAt: row.received_at,
      receivedBy: row.received_by,
      expiresAt: row.received_at + this.deps.days * DAY_MS,
      envelopeCount: row.envelope_count,
      classification: row.classification as ContentClassification,
      digest: row.digest,
      isEncrypted: row.head_json.startsWith('sealed:'),
    };
  }

  #now = () => this.deps.now?.() ?? Date.now();
  #since = () => this.#now() - this.deps.days * DAY_MS;
}
