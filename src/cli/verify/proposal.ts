import { readFileSync } from 'node:fs';
import type { JWK } from 'jose';
import { canonical } from '../../core/values/fingerprint.js';
import { SealError } from '../../services/operate/seals.js';
import { openChain, type SealChain } from '../../services/operate/statements.js';
import { CommandError, EXIT_FAILED } from '../command-error.js';

export interface VerifyProposalOptions {
  /** File or URL of a JWK set. */
  jwks: string;
}

const FETCH_MS = 30_000;

/** `graticule proposal verify FILE --jwks FILE|URL`: verifies the seals of a proposal without its server. */
export async function verifyProposal(
  file: string,
  { jwks }: VerifyProposalOptions,
  print: (text: string) => void = (text) => process.stdout.write(text),
): Promise<void> {
  const document = parseJson(file, readText(file)) as Record<string, unknown>;
  const keys = await readKeys(jwks);
  if (typeof document !== 'object' || document === null || !document['statement'])
    throw new CommandError(`${file}: has no statement. Save the response of /proposals/{id}/seals.`);
  const text = (name: string) => (document[name] ? canonical(document[name]) : null);
  try {
    const chain = await openChain(
      {
        ...{ statement: text('statement')!, approval: text('approval'), receipt: text('receipt') },
        evidence: text('evidence'),
      },
      keys,
    );
    print(describeChain(file, chain, text('evidence') !== null));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new CommandError(`${file}: broken link: ${error.seal}: ${error.message}`, EXIT_FAILED);
  }
}

function describeChain(
  file: string,
  { statement, approval, receipt }: SealChain,
  hasEvidence: boolean,
): string {
  const { payload, digest } = statement;
  const evidence = hasEvidence ? 'matches its digest' : 'is not in the file';
  return [
    `${file}: the seals are authentic`,
    `proposal ${digest}: ${payload.actuator}@${payload.version} by ${payload.requestedBy}, ${payload.createdAt}`,
    ...(payload.evidence === null ? [] : [`evidence ${payload.evidence} ${evidence}`]),
    approval
      ? `approval ${approval.digest}: by ${approval.payload.approvedBy}, ${approval.payload.decidedAt}`
      : 'approval: none',
    receipt
      ? `receipt ${receipt.digest}: ${receipt.payload.outcome}, ${receipt.payload.finishedAt}`
      : 'receipt: none',
    '',
  ].join('\n');
}

async function readKeys(place: string): Promise<JWK[]> {
  const text = /^https?:\/\//.test(place) ? await fetchText(place) : readText(place);
  const { keys } = (parseJson(place, text) ?? {}) as { keys?: JWK[] };
  if (Array.isArray(keys)) return keys;
  throw new CommandError(`${place}: is not a JWK set. Save the response of /.well-known/seal-keys.json.`);
}

async function fetchText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS) });
    if (response.ok) return await response.text();
    throw new CommandError(`${url}: the server returned ${response.status}.`, EXIT_FAILED);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${url}: cannot be read: ${(error as Error).message}.`, EXIT_FAILED);
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new CommandError(`${file}: cannot be read: ${(error as Error).message}.`);
  }
}

function parseJson(place: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${place}: is not JSON.`);
  }
}
