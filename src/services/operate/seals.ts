import { type FlattenedJWS, FlattenedSign, flattenedVerify, importJWK, type JWK } from 'jose';
import { canonical, computeFingerprint } from '../../core/values/fingerprint.js';
import { SEAL_ALGORITHM, type SealSigner } from '../access/keys/seal-keys.js';

/**
 * Sealed statements: canonical JSON with a signature. The type is in the protected header, so a statement of one type
 * cannot be used as another.
 */
export const SEAL_TYPES = {
  statement: 'svc-proposal+jws',
  approval: 'svc-approval+jws',
  receipt: 'svc-receipt+jws',
} as const;
export type SealName = keyof typeof SEAL_TYPES;

/** A seal that is not authentic, or that belongs to another chain. */
export class SealError extends Error {
  override readonly name = 'SealError';
  constructor(
    readonly seal: SealName | 'evidence',
    readonly reason: string,
  ) {
    super(`The ${seal} ${reason}.`);
  }
}

/** A sealed statement, and the digest by which the next seal of the chain names it. */
export interface Seal {
  /** Flattened JWS (RFC 7515) as canonical JSON. */
  readonly text: string;
  readonly digest: string;
}

const encoder = new TextEncoder();

export async function createSeal(name: SealName, payload: object, signer: SealSigner): Promise<Seal> {
  const bytes = encoder.encode(canonical(payload));
  const jws = await new FlattenedSign(bytes)
    .setProtectedHeader({ alg: SEAL_ALGORITHM, kid: signer.publicKey.kid, typ: SEAL_TYPES[name] })
    .sign(signer.privateKey);
  return { text: canonical(jws), digest: computeFingerprint(bytes) };
}

/** The content of a verified seal. */
export interface OpenSeal<T> {
  readonly payload: T;
  readonly digest: string;
}

/**
 * Verifies a seal. Each byte of the text counts: other spellings of the same JSON or base64url are refused. Throws
 * `SealError`.
 */
export async function openSeal<T>(name: SealName, text: string, keys: readonly JWK[]): Promise<OpenSeal<T>> {
  const refuse = (reason: string) => new SealError(name, reason);
  const jws = parseJws(text);
  if (!jws) throw refuse('is not a flattened JWS in canonical JSON');
  const header = decodeJson(jws.protected!);
  const payload = decodeJson(jws.payload);
  if (!header || !payload || decodeBase64(jws.signature) === undefined)
    throw refuse('contains a member that is not canonical');
  const { alg, kid, typ, ...rest } = header.value as Record<string, unknown>;
  if (alg !== SEAL_ALGORITHM || Object.keys(rest).length > 0)
    throw refuse(`has another header than alg ${SEAL_ALGORITHM}, kid and typ`);
  if (typ !== SEAL_TYPES[name])
    throw refuse(`has the type '${String(typ)}' instead of '${SEAL_TYPES[name]}'`);
  const key = keys.find((one) => one.kid === kid);
  if (!key) throw refuse(`is signed by the unknown key '${String(kid)}'`);
  try {
    await flattenedVerify(jws, await importJWK(key, SEAL_ALGORITHM), { algorithms: [SEAL_ALGORITHM] });
  } catch {
    throw refuse('does not match its signature');
  }
  return { payload: payload.value as T, digest: computeFingerprint(payload.bytes) };
}

/** Returns the content of a seal without verifying it, for display. Undefined if it cannot be read. */
export function peekSeal<T>(text: string): T | undefined {
  const { payload } = (parseJson(text) ?? {}) as Partial<FlattenedJWS>;
  return parseJson(Buffer.from(payload ?? '', 'base64url').toString('utf8')) as T | undefined;
}

/** The digest by which the next seal names this one, without verifying it. */
export function computeSealDigest(text: string): string {
  const { payload } = (parseJson(text) ?? {}) as Partial<FlattenedJWS>;
  return computeFingerprint(typeof payload === 'string' ? Buffer.from(payload, 'base64url') : text);
}

function parseJws(text: string): FlattenedJWS | undefined {
  const value = parseJson(text) as Partial<FlattenedJWS> | undefined;
  if (typeof value !== 'object' || value === null || canonical(value) !== text) return undefined;
  const { payload, protected: header, signature, ...rest } = value;
  const areTexts = [payload, header, signature].every((one) => typeof one === 'string');
  return areTexts && Object.keys(rest).length === 0 ? (value as FlattenedJWS) : undefined;
}

function decodeJson(text: string): { value: unknown; bytes: Uint8Array } | undefined {
  const bytes = decodeBase64(text);
  if (!bytes) return undefined;
  const json = bytes.toString('utf8');
  const value = parseJson(json);
  const isObject = typeof value === 'object' && value !== null;
  return isObject && canonical(value) === json ? { value, bytes } : undefined;
}

/** Undefined for a text that another text with the same bytes could replace. */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
