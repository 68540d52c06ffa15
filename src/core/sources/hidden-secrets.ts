import { isSecretName } from '../errors/field-errors.js';
import { isDatabase, withoutPassword } from './database-url.js';

/** Replaces the value of a secret. */
export const MASK = '***';

const USER_PART = /([a-z][\w+.-]*:\/\/)[^/?#\s]*@/gi;
const QUERY_PAIR = /([?&;])([^=&;#\s]+)=([^&;#\s]*)/g;
const CONNECTION_PAIR = /\b((?:ssl)?password|passwd|pwd)(\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&;]+)/gi;

/** Text of a setting without the user parts of URLs, secret parameters of queries, and passwords of connection strings. */
export function hideSecrets(text: string): string {
  if (isDatabase(text)) return withoutPassword(text);
  const isBroken = /^[a-z][\w+.-]*:\/\/.*@/is.test(text) && !URL.canParse(text);
  const withoutUser = isBroken
    ? text.replace(/^([^:]*:\/\/).*@/s, `$1${MASK}@`)
    : text.replace(USER_PART, `$1${MASK}@`);
  return withoutUser
    .replace(QUERY_PAIR, (pair, start: string, name: string) =>
      isSecretParameter(name) ? `${start}${name}=${MASK}` : pair,
    )
    .replace(CONNECTION_PAIR, `$1$2${MASK}`);
}

function isSecretParameter(name: string): boolean {
  let plain = name;
  try {
    plain = decodeURIComponent(name);
  } catch {
    // A name with a wrong escape is compared undecoded.
  }
  return isSecretName(plain) || /signature/i.test(plain);
}

/** A value without secrets: those in strings and names, and members with the name of a secret. */
export function hideSecretsIn(value: unknown): unknown {
  if (typeof value === 'string') return hideSecrets(value);
  if (Array.isArray(value)) return value.map(hideSecretsIn);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [
    hideSecrets(name),
    isSecretName(name) && member !== '' && member !== null ? MASK : hideSecretsIn(member),
  ]);
  return Object.fromEntries(entries);
}
