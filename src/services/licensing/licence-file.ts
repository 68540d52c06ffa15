import { compactVerify, importJWK, type JWK } from 'jose';
import { compileOnUse } from '../../core/http/schema-check.js';
import {
  LICENCE_TYPE,
  type Licence,
  LicenceSchema,
  type LicenceVerdict,
  MAX_LICENCE_BYTES,
} from '../../core/licensing/licence.js';

const ALGORITHM = 'EdDSA';
/** Three parts in base64url, and the end of line that editors and shells add. */
const COMPACT = /^([\w-]+)\.([\w-]+)\.([\w-]+)\r?\n?$/;
const checkLicence = compileOnUse(LicenceSchema);

/** Verifies a licence file: its form, its key, its signature, and its end, in this order. */
export async function verifyLicence(
  bytes: Uint8Array,
  keys: readonly JWK[],
  now: number,
): Promise<LicenceVerdict> {
  const parsed = parseLicence(bytes);
  if (typeof parsed === 'string') return { state: 'Malformed', problem: parsed };
  const { kid, jws, licence } = parsed;
  const key = keys.find((one) => one.kid === kid);
  if (!key) return { state: 'UnknownKey', problem: `licensing.keys has no key '${kid}'` };
  try {
    await compactVerify(jws, await importJWK(key, ALGORITHM), { algorithms: [ALGORITHM] });
  } catch {
    return { state: 'InvalidSignature', problem: `the signature is not of the key '${kid}'` };
  }
  if (now >= Date.parse(licence.expiresAt))
    return { state: 'Expired', licence, problem: `the licence expired at ${licence.expiresAt}` };
  return { state: 'Valid', licence };
}

interface ParsedLicence {
  readonly kid: string;
  readonly jws: string;
  readonly licence: Licence;
}

/** Returns the reason if the bytes are not a licence file. */
function parseLicence(bytes: Uint8Array): ParsedLicence | string {
  if (bytes.byteLength > MAX_LICENCE_BYTES) return `the file has more than ${MAX_LICENCE_BYTES} bytes`;
  const match = COMPACT.exec(Buffer.from(bytes).toString('latin1'));
  if (!match) return 'the file is not a JWS in compact serialization';
  const parts = match.slice(1) as [string, string, string];
  // Unused bits of the last character would let different files have the same signature.
  const isCanonical = parts.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part);
  if (!isCanonical) return 'the file is not canonical base64url';
  const header = parseObject(parts[0]);
  if (!header) return 'the protected header is not a JSON object';
  const { typ, alg, kid, crit } = header;
  if (typ !== LICENCE_TYPE) return `typ of the protected header is not ${LICENCE_TYPE}`;
  if (alg !== ALGORITHM) return `alg of the protected header is not ${ALGORITHM}`;
  if (typeof kid !== 'string' || kid === '') return 'the protected header has no kid';
  if (crit !== undefined) return 'crit of the protected header is not supported';
  const licence = parseObject(parts[1]);
  if (!licence) return 'the payload is not a JSON object';
  const [problem] = checkLicence(licence);
  if (problem) return `${problem.name} ${problem.detail}`;
  const valid = licence as unknown as Licence;
  const times = [Date.parse(valid.issuedAt), Date.parse(valid.expiresAt)] as const;
  if (times.some(Number.isNaN)) return 'issuedAt or expiresAt is not a date';
  if (times[1] <= times[0]) return 'expiresAt is not after issuedAt';
  return { kid, jws: parts.join('.'), licence: valid };
}

function parseObject(part: string): Record<string, unknown> | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Buffer.from(part, 'base64url'),
    );
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
