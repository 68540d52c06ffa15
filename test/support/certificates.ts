import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes a certificate of its own authority for 127.0.0.1, valid for two days, and its key. */
export function makeServerCertificate(folder: string, name: string): { cert: string; key: string } {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-days', '2', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  const places = ['-keyout', files.key, '-out', files.cert];
  execFileSync('openssl', [...request, ...subject, ...places], { stdio: 'ignore' });
  return files;
}
