import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { JWK } from 'jose';
import { readCheckpoint, type VerifiedCheckpoint } from '../../services/audit/checkpoint-jws.js';
import { type AuditRow, computeRowHash } from '../../stores/audit/audit.js';
import { CommandError, EXIT_FAILED } from '../command-error.js';

export interface VerifyOptions {
  checkpoint?: string;
  keyId?: string;
}

/** First wrong row of a trail, and the reason. */
interface Flaw {
  readonly id: number;
  readonly reason: string;
}

/** `graticule audit verify FILE`: verifies an exported audit trail without its server. */
export async function verifyAudit(
  file: string,
  { checkpoint, keyId }: VerifyOptions,
  print: (text: string) => void = (text) => process.stdout.write(text),
): Promise<void> {
  const checkpoints = checkpoint === undefined ? [] : await readCheckpoints(checkpoint, keyId);
  const { rows, first, last, flaw } = await readTrail(file, checkpoints);
  if (flaw) throw new CommandError(`${file}: row ${flaw.id}: ${flaw.reason}.`, EXIT_FAILED);
  const keys = [...new Set(checkpoints.map((one) => one.keyId))];
  const compared = checkpoints.filter(({ statement: { lastId } }) => lastId >= first && lastId <= last);
  print(
    [
      `${file}: ${rows} rows from ${first} to ${last} are unchanged and complete`,
      ...(checkpoint === undefined
        ? ['no checkpoint was given, so rows can be missing at the end']
        : [
            `compared with ${compared.length} of ${checkpoints.length} checkpoints, signed by ${keys.join(', ')}`,
          ]),
      '',
    ].join('\n'),
  );
}

/** Reads the response of `audit/checkpoints`, or a file with one signed text per line. */
async function readCheckpoints(file: string, keyId: string | undefined): Promise<VerifiedCheckpoint[]> {
  const { signatures, keys } = parseCheckpoints(readText(file));
  if (signatures.length === 0) throw new CommandError(`${file}: contains no checkpoint.`);
  const read = signatures.map((jws) =>
    readCheckpoint(jws, keys).catch((error: Error) => {
      throw new CommandError(`${file}: a checkpoint is not authentic: ${error.message}.`, EXIT_FAILED);
    }),
  );
  const checkpoints = await Promise.all(read);
  const other = checkpoints.find((one) => keyId !== undefined && one.keyId !== keyId);
  if (other)
    throw new CommandError(
      `${file}: a checkpoint is signed by ${other.keyId}, not by ${keyId}.`,
      EXIT_FAILED,
    );
  return checkpoints.toSorted((a, b) => a.statement.rows - b.statement.rows);
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file}: cannot be read (${(error as Error).message}).`);
  }
}

function parseCheckpoints(text: string): { signatures: string[]; keys?: JWK[] } {
  try {
    const { checkpoints, keys } = JSON.parse(text) as { checkpoints: { signature: string }[]; keys: JWK[] };
    if (Array.isArray(checkpoints) && Array.isArray(keys))
      return { signatures: checkpoints.map(({ signature }) => signature), keys };
  } catch {
    // The file is not one JSON document.
  }
  // A signed text anywhere in a line, such as in a log.
  return { signatures: text.match(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [] };
}

interface Trail {
  rows: number;
  first: number;
  last: number;
  flaw?: Flaw;
}

/** Reads an export in JSON lines, newest row first or oldest row first. */
async function readTrail(file: string, checkpoints: readonly VerifiedCheckpoint[]): Promise<Trail> {
  const hashes = new Map(checkpoints.map(({ statement }) => [statement.lastId, statement.hash]));
  const trail: Trail = { rows: 0, first: Number.POSITIVE_INFINITY, last: 0 };
  const report = (flaw: Flaw) => {
    if (!trail.flaw || flaw.id < trail.flaw.id) trail.flaw = flaw;
  };
  let before: AuditRow | undefined;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    if (line.trim() === '') continue;
    const row = parseRow(line, file, trail.rows + 1);
    trail.rows += 1;
    trail.first = Math.min(trail.first, row.id);
    trail.last = Math.max(trail.last, row.id);
    if (computeRowHash(row) !== row.hash)
      report({ id: row.id, reason: 'it was changed after it was written' });
    if ((hashes.get(row.id) ?? row.hash) !== row.hash)
      report({
        id: row.id,
        reason: 'the checkpoint attests another hash: it or a row before it was replaced',
      });
    if (before) checkLink(before, row, report);
    before = row;
  }
  if (trail.rows === 0) throw new CommandError(`${file}: contains no rows.`);
  const most = Math.max(0, ...checkpoints.map(({ statement }) => statement.rows));
  if (most > trail.last)
    report({
      id: trail.last + 1,
      reason: `the checkpoint attests ${most} rows, and the file ends at ${trail.last}`,
    });
  return trail;
}

function checkLink(one: AuditRow, other: AuditRow, report: (flaw: Flaw) => void): void {
  const [older, newer] = one.id < other.id ? [one, other] : [other, one];
  if (newer.id !== older.id + 1)
    report({ id: older.id + 1, reason: `rows ${older.id + 1} to ${newer.id - 1} are missing` });
  else if (newer.previous_hash !== older.hash)
    report({ id: newer.id, reason: 'it does not follow the row before it' });
}

function parseRow(line: string, file: string, number: number): AuditRow {
  try {
    const one = JSON.parse(line) as Record<string, string | number | null>;
    const row = {
      id: one['auditId'],
      at: Date.parse(String(one['timestamp'])),
      event_type: one['eventType'],
      action: one['action'],
      actor: one['actor'],
      actor_type: one['actorType'],
      outcome: one['outcome'],
      resource_type: one['resourceType'],
      resource_id: one['resourceId'],
      correlation_id: one['correlationId'],
      remote_ip: one['remoteIp'],
      user_agent: one['userAgent'],
      details: one['details'],
      previous_hash: one['previousHash'],
      hash: one['hash'],
    };
    if (!Number.isSafeInteger(row.id) || typeof row.hash !== 'string') throw new Error('it has no hash');
    return row as unknown as AuditRow;
  } catch (error) {
    throw new CommandError(
      `${file}: line ${number} is not a row of an export with format=jsonl (${(error as Error).message}).`,
    );
  }
}
