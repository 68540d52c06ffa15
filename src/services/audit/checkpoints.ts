import type { JWK } from 'jose';
import type { AuditStore, AuditVerdict } from '../../stores/audit/audit.js';
import type { AuditCheckpointRow, AuditCheckpointStore } from '../../stores/audit/checkpoints.js';
import type { SealKeys } from '../access/keys/seal-keys.js';
import { exception, type Log } from '../telemetry/log.js';
import { auditChainBroken } from '../telemetry/store-metrics.js';
import { type CheckpointStatement, readCheckpoint, signCheckpoint } from './checkpoint-jws.js';

export interface AuditCheckpointsDeps {
  readonly audit: Pick<AuditStore, 'verify'>;
  readonly store: AuditCheckpointStore;
  readonly keys: Pick<SealKeys, 'published' | 'signer'>;
  readonly log: Pick<Log, 'write'>;
  now?(): number;
}

/** Rows and milliseconds after which a new checkpoint is due. */
const DUE_ROWS = 1000;
const DUE_MS = 3_600_000;
const LOOK_MS = 60_000;

/**
 * Signed checkpoints of the audit trail: a chain of hashes does not show that its last rows were deleted. Copies
 * leave the server by the log and by exports.
 */
export class AuditCheckpoints {
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly deps: AuditCheckpointsDeps) {}

  start(): void {
    const look = () => {
      this.sealIfDue().catch((error: unknown) =>
        this.deps.log.write('audit.checkpoint.failed', exception(error)),
      );
    };
    this.#timer = setInterval(look, LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Adds a checkpoint after 1,000 new rows, or an hour after the last one if there is a new row. */
  async sealIfDue(): Promise<void> {
    const { last, newest } = await this.deps.store.ends();
    if (!last) return;
    const added = last.id - (newest?.row_count ?? 0);
    const age = this.#now() - (newest?.created_at ?? 0);
    if (added >= DUE_ROWS || (added > 0 && age >= DUE_MS)) await this.#seal(last);
  }

  async #seal(last: { readonly id: number; readonly hash: string }): Promise<void> {
    const at = this.#now();
    // Ids have no gaps, so the last one is the number of rows.
    const statement: CheckpointStatement = {
      ...{ rows: last.id, lastId: last.id, hash: last.hash },
      time: new Date(at).toISOString(),
    };
    const { publicKey, privateKey } = await this.deps.keys.signer();
    const signature = await signCheckpoint(statement, publicKey, privateKey);
    const row = { row_count: last.id, last_id: last.id, last_hash: last.hash, created_at: at, signature };
    if (!(await this.deps.store.add(row))) return;
    const { rows, lastId, hash, time } = statement;
    this.deps.log.write('audit.checkpoint', {
      ...{ Rows: rows, LastId: lastId, Hash: hash, Time: time, KeyId: publicKey.kid, Signature: signature },
    });
  }

  /** All checkpoints, oldest first, and the public keys that signed them. */
  async list(): Promise<{ keys: JWK[]; checkpoints: AuditCheckpointRow[] }> {
    return { keys: await this.deps.keys.published(), checkpoints: await this.deps.store.list() };
  }

  /** The newest checkpoint as a signed text. */
  async newest(): Promise<string | undefined> {
    return (await this.deps.store.newest())?.signature;
  }

  /** Recomputes the chain, and compares it with all checkpoints. */
  async verify(): Promise<AuditVerdict> {
    const { keys, checkpoints } = await this.list();
    const forged = await findForged(checkpoints, keys);
    const verdict = await this.deps.audit.verify(
      checkpoints.map(({ row_count, last_hash }) => ({ rows: row_count, hash: last_hash })),
    );
    const broken = verdict.broken ?? forged;
    auditChainBroken.cell().set(broken ? 1 : 0);
    return broken ? { ...verdict, broken } : verdict;
  }

  #now = () => this.deps.now?.() ?? Date.now();
}

/** The first checkpoint whose signature is wrong, or which states other values than its row. */
async function findForged(
  checkpoints: readonly AuditCheckpointRow[],
  keys: readonly JWK[],
): Promise<AuditVerdict['broken']> {
  for (const { row_count, last_id, last_hash, signature } of checkpoints) {
    const problem = await readCheckpoint(signature, keys).then(
      ({ statement: { rows, lastId, hash } }) =>
        rows === row_count && lastId === last_id && hash === last_hash
          ? undefined
          : 'its signature is of another statement',
      (error: Error) => error.message,
    );
    if (problem !== undefined)
      return { id: last_id, reason: `the checkpoint of ${row_count} rows is not authentic: ${problem}` };
  }
  return undefined;
}
