import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../providers/postgis/support.js';
import { freePort } from '../../support/ports.js';
import { startPostgres, type TestPostgres } from '../../support/postgres.js';

/** A PostgreSQL server that is reached over TCP, with passwords and TLS. */
export interface SecurePostgres extends TestPostgres {
  port: number;
  /** Certificate of the authority that signed the server's, which is for `localhost` alone. */
  ca: string;
}

/** Whoever comes over TCP needs a password; `only_tls` needs TLS too. */
const HBA = `local all all trust
hostnossl all only_tls 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
`;

/** `tls` switches TLS on. */
export async function startSecurePostgres(tls = true): Promise<SecurePostgres> {
  const port = await freePort();
  const postgres = await startPostgres(['listen_addresses=127.0.0.1', `port=${port}`]);
  const folder = mkdtempSync(join(tmpdir(), 'graticule-ca-'));
  const { url } = postgres;
  const ca = join(folder, 'ca.crt');
  if (tls) {
    const { key, certificate } = signed(folder);
    await write(url, 'server.key', key);
    await write(url, 'server.crt', certificate);
    await run(url, 'ALTER SYSTEM SET ssl = on');
  }
  await write(url, 'pg_hba.conf', HBA);
  await run(url, 'SELECT pg_reload_conf()');
  return {
    ...postgres,
    port,
    ca,
    async stop() {
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes a file of the data folder as its owner, whom alone it is for. */
async function write(url: string, name: string, text: string): Promise<void> {
  const lines = `SELECT unnest(string_to_array($text$${text.trimEnd()}$text$, E'\\n'))`;
  await run(url, `COPY (${lines}) TO PROGRAM 'umask 077; cat > ${name}'`);
}

function signed(folder: string): { key: string; certificate: string } {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  const request = ['req', '-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  openssl(...request, '-x509', '-days', '2', '-subj', '/CN=Test CA', '-keyout', 'ca.key', '-out', 'ca.crt');
  openssl(
    ...request,
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
    '-keyout',
    'server.key',
    '-out',
    'server.csr',
  );
  openssl(
    ...['x509', '-req', '-days', '2', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key'],
    ...['-CAcreateserial', '-copy_extensions', 'copy', '-out', 'server.crt'],
  );
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { key: read('server.key'), certificate: read('server.crt') };
}
