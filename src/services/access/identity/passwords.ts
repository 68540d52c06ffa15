import { ApiError } from '../../../core/errors/errors.js';

/** Argon2id as OWASP advises: 19 MiB, two passes, one lane. */
const COST = { type: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/**
 * Maximum number of passwords that are checked at the same time. Each check takes a thread of the process, and
 * memory.
 */
const AT_ONCE = 2;
const MAX_WAITING = 100;

export const PASSWORD_LENGTH = { least: 12, most: 256 } as const;

let running = 0;
const waiting: (() => void)[] = [];

/** A salted hash of the password in PHC notation. */
export function hashPassword(password: string): Promise<string> {
  return inTurn(async () => (await argon()).hash(password, COST));
}

/**
 * Whether the password matches the hash. Without a hash the check takes the same time and returns false, so a caller
 * cannot distinguish an unknown user from a wrong password.
 */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const isRight = await inTurn(async () => (await argon()).verify(hash ?? (await decoy()), password));
  return hash !== null && isRight;
}

let decoyHash: Promise<string> | undefined;

async function decoy(): Promise<string> {
  decoyHash ??= argon().then(({ hash }) => hash('no password at all', COST));
  return decoyHash;
}

/** Loaded by the first who needs it. */
async function argon(): Promise<Pick<typeof import('argon2'), 'hash' | 'verify'>> {
  return (await import('argon2')).default;
}

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (waiting.length >= MAX_WAITING)
    throw new ApiError('unavailable', 'Too many passwords are being checked. Retry later.');
  if (running >= AT_ONCE) await new Promise<void>((go) => waiting.push(go));
  running++;
  try {
    return await work();
  } finally {
    running--;
    waiting.shift()?.();
  }
}
