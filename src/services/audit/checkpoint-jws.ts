import { CompactSign, compactVerify, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { SEAL_ALGORITHM, type SealSigner } from '../access/keys/seal-keys.js';

/** Statement about the first rows of an audit trail. */
export interface CheckpointStatement {
  readonly rows: number;
  readonly lastId: number;
  /** Hash of the last row, and so of all rows before it. */
  readonly hash: string;
  /** RFC 3339. */
  readonly time: string;
}

const TYPE = 'graticule-audit-checkpoint+jws';

/** Signs a statement. The signature names the public key and contains it, so that a log line suffices to verify it. */
export async function signCheckpoint(
  statement: CheckpointStatement,
  publicKey: SealSigner['publicKey'],
  privateKey: SealSigner['privateKey'],
): Promise<string> {
  const { kty, crv, x } = publicKey as { kty: string; crv: string; x: string };
  return new CompactSign(new TextEncoder().encode(JSON.stringify(statement)))
    .setProtectedHeader({
      ...{ alg: SEAL_ALGORITHM, typ: TYPE, kid: publicKey.kid, jwk: { kty, crv, x } },
    })
    .sign(privateKey);
}

/** A verified statement with the id of its key. */
export interface VerifiedCheckpoint {
  readonly statement: CheckpointStatement;
  readonly keyId: string;
}

/**
 * Verifies a signature with the key of its id in `keys`. Without `keys`, the key inside the signature is used, which shows
 * only that the statement is complete. Rejects for any other text.
 */
export async function readCheckpoint(
  jws: string,
  keys?: readonly (JWK & { readonly kid?: string })[],
): Promise<VerifiedCheckpoint> {
  const { kid, jwk, typ } = decodeProtectedHeader(jws);
  if (typ !== TYPE || typeof kid !== 'string') throw new Error('it is not a signed checkpoint');
  const key = keys ? keys.find((one) => one.kid === kid) : jwk;
  if (!key) throw new Error(`its key ${kid} is not one of the given keys`);
  const { payload } = await compactVerify(jws, await importJWK(key, SEAL_ALGORITHM), {
    algorithms: [SEAL_ALGORITHM],
  });
  return { statement: parseStatement(new TextDecoder().decode(payload)), keyId: kid };
}

function parseStatement(text: string): CheckpointStatement {
  const value = JSON.parse(text) as Partial<CheckpointStatement>;
  const { rows, lastId, hash, time } = value;
  const isWhole =
    Number.isSafeInteger(rows) &&
    Number.isSafeInteger(lastId) &&
    typeof hash === 'string' &&
    typeof time === 'string';
  if (!isWhole) throw new Error('it is not a statement about an audit trail');
  return { rows: rows!, lastId: lastId!, hash, time };
}
