import type { CertificateHeader } from '../../core/access/client-certificates.js';
import type { Certificate } from '../../services/access/certificates/certificate.js';
import { MAX_CHAIN } from '../../services/access/certificates/chain.js';
import {
  readAll,
  readDer,
  readProof,
  UnreadableCertificate,
} from '../../services/access/certificates/encodings.js';
import type { Proof } from '../../services/access/certificates/judgement.js';

/** Headers in which proxies pass on the certificate that a client showed them. */

/** Parses a certificate from a header. Throws `UnreadableCertificate`. */
export function parseForwardedCertificate(
  header: Exclude<CertificateHeader, ''>,
  value: string,
  chain = '',
): Proof {
  switch (header) {
    case 'Client-Cert':
      return { leaf: readDer(parseSequence(value)), chain: buildChain(chain) };
    case 'X-SSL-Client-Cert':
      return readProof(value, 'urlEncodedPem');
    case 'X-Forwarded-Client-Cert':
      return proofOfElement(value);
  }
}

/** A byte sequence of RFC 8941. */
function parseSequence(value: string): string {
  const base64 = /^:([A-Za-z0-9+/=]*):$/.exec(value.trim())?.[1];
  if (base64 === undefined) throw new UnreadableCertificate('it is not a byte sequence of RFC 8941');
  return base64;
}

/** `Client-Cert-Chain` of RFC 9440: a list of byte sequences, without the client's own certificate. */
function buildChain(value: string): readonly Certificate[] {
  const members = value.trim() === '' ? [] : value.split(',');
  if (members.length > MAX_CHAIN) throw new UnreadableCertificate('its chain is too long');
  return members.map((member) => readDer(parseSequence(member)));
}

/**
 * Parses an element of Envoy's list. Each proxy appends one, so the last element is from the proxy in front of this
 * server.
 */
function proofOfElement(value: string): Proof {
  const pairs = new Map(splitOutside(splitOutside(value, ',').at(-1) ?? '', ';').map(buildPair));
  const certificate = pairs.get('cert');
  if (certificate === undefined) throw new UnreadableCertificate('its last element has no Cert');
  const { leaf, chain } = readProof(certificate, 'urlEncodedPem');
  const all = pairs.get('chain');
  if (all === undefined) return { leaf, chain };
  const others = readAll(all, 'urlEncodedPem').filter(({ fingerprint }) => fingerprint !== leaf.fingerprint);
  return { leaf, chain: others };
}

/** Splits where no quotes are open. */
function splitOutside(text: string, separator: ',' | ';'): string[] {
  const part = separator === ',' ? /(?:"(?:\\.|[^"\\])*"|[^",])+/g : /(?:"(?:\\.|[^"\\])*"|[^";])+/g;
  return text.match(part) ?? [];
}

function buildPair(text: string): [string, string] {
  const cut = text.indexOf('=');
  const value = text.slice(cut + 1).trim();
  const plain = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  return [text.slice(0, Math.max(cut, 0)).trim().toLowerCase(), plain];
}
