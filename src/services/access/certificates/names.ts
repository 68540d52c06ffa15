import type { IdentityType } from '../../../core/access/client-certificates.js';

/** Names in certificates, brought to one spelling so that equal ones are equal texts. */

const HEX_64 = /^[0-9a-f]{64}$/;

/** A SHA-256 fingerprint in lower case without colons. Undefined if the text is not a fingerprint. */
export function plainFingerprint(text: string): string | undefined {
  const digits = text.replace(/[:\s]/g, '').toLowerCase();
  return HEX_64.test(digits) ? digits : undefined;
}

/**
 * A serial number in lower-case hexadecimal digits without leading zeros. Undefined if the text is not a serial
 * number.
 */
export function plainSerial(text: string): string | undefined {
  const digits = text
    .replace(/^0x/i, '')
    .replace(/[:\s]/g, '')
    .toLowerCase()
    .replace(/^0+(?=.)/, '');
  return /^[0-9a-f]{1,64}$/.test(digits) ? digits : undefined;
}

/**
 * A distinguished name in canonical form: its parts from the country to the common name. Accepts RFC 4514
 * (`CN=a,O=b`) and the lines that Node.js returns. Undefined if the text is not a distinguished name.
 */
export function plainName(text: string): string | undefined {
  const parts = text.includes('\n') ? text.split('\n') : split(text);
  const pairs = parts.map((part) => /^\s*([A-Za-z][\w.-]*|[\d.]+)\s*=\s*(.*?)\s*$/s.exec(part));
  if (pairs.some((pair) => pair === null)) return undefined;
  return pairs.map((pair) => `${pair![1]!.toUpperCase()}=${plainValue(pair![2]!)}`).join('\n');
}

/** Whether a name of a configuration means that of a certificate: people write it from either end. */
export function isSameName(written: string, ofCertificate: string): boolean {
  const name = plainName(written);
  return name === ofCertificate || name?.split('\n').reverse().join('\n') === ofCertificate;
}

/** Splits at commas that are not escaped. */
function split(text: string): string[] {
  return text.match(/(?:\\.|[^\\,])+/gs) ?? [];
}

/** Takes away the escapes of RFC 4514, section 2.4. */
function plainValue(value: string): string {
  const octets = value.replace(/(?:\\[0-9A-Fa-f]{2})+/g, (run) =>
    Buffer.from(run.replaceAll('\\', ''), 'hex').toString('utf8'),
  );
  return octets.replace(/\\(.)/gs, '$1').replaceAll('\n', '\u240a');
}

/** A mapping value in canonical form. Undefined if the text cannot be such a value. */
export function plainIdentity(type: IdentityType, value: string): string | undefined {
  switch (type) {
    case 'fingerprintSha256':
      return plainFingerprint(value);
    case 'subject':
      return plainName(value);
    case 'sanDns':
      return value === '' ? undefined : value.toLowerCase();
    case 'sanEmail':
      return plainAddress(value);
    case 'sanUri':
      return value === '' ? undefined : value;
  }
}

/** An email address with a lower-case domain. The part before the @ can be case-sensitive. */
function plainAddress(value: string): string | undefined {
  const cut = value.lastIndexOf('@');
  return cut > 0 ? value.slice(0, cut) + value.slice(cut).toLowerCase() : undefined;
}
