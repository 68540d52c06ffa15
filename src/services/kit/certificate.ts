import { X509Certificate } from 'node:crypto';
import { readFileSync, type StatsListener, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '../../core/config/config.js';

/** Files (PEM) of the certificate with its chain, and of its key. */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
  /** File of the authorities whose client certificates are requested. */
  readonly clientCa?: string;
}

const LOOK_MS = 5000;

/**
 * The files of the configuration. Undefined: no TLS. Throws `ConfigError` for files that do not contain a certificate
 * and its key.
 */
export function certificateFiles({
  cert,
  key,
  clientCa = '',
}: CertificateFiles): CertificateFiles | undefined {
  if (cert === '' && key === '' && clientCa === '') return undefined;
  if (cert === '' || key === '') throw new ConfigError(['server.tls: requires both cert and key.']);
  const files = clientCa === '' ? { cert, key } : { cert, key, clientCa };
  const problem = certificateProblem(files);
  if (problem !== undefined) throw new ConfigError([`server.tls: ${problem}`]);
  return files;
}

/** Why these files cannot be used; undefined when they can. */
export function certificateProblem({ cert, key, clientCa }: CertificateFiles): string | undefined {
  try {
    createSecureContext({ cert: readFileSync(cert), key: readFileSync(key) });
    // OpenSSL ignores a file of authorities that contains none.
    if (clientCa !== undefined) new X509Certificate(readFileSync(clientCa));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Calls back when one of the files has changed, or exists again. Returns a function that stops it. */
export function watchCertificate(
  { cert, key, clientCa = cert }: CertificateFiles,
  changed: () => void,
): () => void {
  const files = [...new Set([cert, key, clientCa])];
  const look: StatsListener = (now, before) => {
    if (now.mtimeMs !== before.mtimeMs && now.size > 0) changed();
  };
  for (const file of files) watchFile(file, { interval: LOOK_MS, persistent: false }, look);
  return () => {
    for (const file of files) unwatchFile(file, look);
  };
}
