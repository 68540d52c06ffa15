import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate with its key, as files and as text. */
export interface IssuedCertificate {
  readonly name: string;
  readonly cert: string;
  readonly key: string;
  readonly pem: string;
}

export interface Wish {
  /** `/CN=...`; of the name when absent. */
  subject?: string;
  /** Lines of an extension section of OpenSSL. */
  extensions?: readonly string[];
  /** When it begins and ends, in days from now. */
  days?: readonly [number, number];
  by?: IssuedCertificate;
}

export const FOR_CLIENTS = 'extendedKeyUsage=clientAuth';
export const AUTHORITY = 'basicConstraints=critical,CA:TRUE';

/** Makes certificates with OpenSSL. */
export interface Authority {
  issue(name: string, wish?: Wish): IssuedCertificate;
  close(): void;
}

const DAY_MS = 86_400_000;
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export function openAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-authority-'));
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: folder });
  let serial = 4096;
  return {
    issue(name, { subject = `/CN=${name}`, extensions = [FOR_CLIENTS], days = [-1, 365], by } = {}) {
      const [cert, key, request] = ['pem', 'key', 'csr'].map((end) => join(folder, `${name}.${end}`));
      run('req', ...KEY, '-subj', subject, '-keyout', key!, '-out', request!);
      writeFileSync(join(folder, 'index.txt'), '');
      writeFileSync(join(folder, 'serial'), (serial++).toString(16));
      writeFileSync(join(folder, 'ca.cnf'), configuration(extensions));
      const [from, to] = days.map((day) => opensslTime(Date.now() + day * DAY_MS));
      const issuer = by ? ['-cert', by.cert, '-keyfile', by.key] : ['-selfsign', '-keyfile', key!];
      const dates = ['-startdate', from!, '-enddate', to!];
      run(
        'ca',
        '-batch',
        '-config',
        'ca.cnf',
        ...issuer,
        ...dates,
        '-in',
        request!,
        '-out',
        cert!,
        '-notext',
      );
      return { name, cert: cert!, key: key!, pem: readFileSync(cert!, 'utf8') };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function configuration(extensions: readonly string[]): string {
  return `[ca]
default_ca=here
[here]
new_certs_dir=.
database=index.txt
serial=serial
default_md=sha256
policy=any
unique_subject=no
email_in_dn=yes
x509_extensions=extensions
[any]
countryName=optional
organizationName=optional
commonName=optional
emailAddress=optional
[extensions]
${extensions.length > 0 ? extensions.join('\n') : 'subjectKeyIdentifier=hash'}
`;
}

/** `YYYYMMDDHHMMSSZ`. */
const opensslTime = (ms: number) => `${new Date(ms).toISOString().replace(/[-:T]|\..*$/g, '')}Z`;
