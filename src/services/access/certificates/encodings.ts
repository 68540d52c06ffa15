import { Certificate } from './certificate.js';
import { MAX_CHAIN } from './chain.js';
import type { Proof } from './judgement.js';

/** Text encodings of a certificate. */
export const ENCODINGS = ['pem', 'urlEncodedPem', 'base64Der'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Error for text that is not a certificate. */
export class UnreadableCertificate extends Error {
  override readonly name = 'UnreadableCertificate';
}

const PEM = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The client certificate, followed by its chain. Throws `UnreadableCertificate`. */
export function readProof(text: string, encoding: Encoding): Proof {
  const [leaf, ...chain] = readAll(text, encoding);
  return { leaf: leaf!, chain };
}

/** At least one. Throws `UnreadableCertificate`. */
export function readAll(text: string, encoding: Encoding): readonly Certificate[] {
  if (encoding === 'base64Der') return [readOne(decodeDer(text.replace(/\s/g, '')))];
  const blocks = (encoding === 'pem' ? text : decoded(text)).match(PEM) ?? [];
  if (blocks.length === 0) throw new UnreadableCertificate('it has no certificate in PEM');
  if (blocks.length > MAX_CHAIN + 1) throw new UnreadableCertificate('it has too many certificates');
  return blocks.map(readOne);
}

function readOne(bytes: string | Uint8Array): Certificate {
  try {
    return Certificate.read(bytes);
  } catch {
    throw new UnreadableCertificate('it is not an X.509 certificate');
  }
}

function decodeDer(base64: string): Uint8Array {
  if (!BASE64.test(base64)) throw new UnreadableCertificate('it is not base64');
  return Buffer.from(base64, 'base64');
}

/** Reads DER. Throws `UnreadableCertificate`. */
export const readDer = (base64: string): Certificate => readOne(decodeDer(base64));

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new UnreadableCertificate('it is not URL-encoded');
  }
}
