import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const DAY_MS = 86_400_000;

/** Licence files made by openssl and text functions, without the libraries of the server. */
export class LicenceIssuer {
  readonly folder = mkdtempSync(join(tmpdir(), 'graticule-licence-'));
  readonly jwk: { kty: string; crv: string; kid: string; x: string };
  readonly #key: string;

  constructor(readonly kid = 'issuer-1') {
    this.#key = join(this.folder, `${kid}.pem`);
    execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', this.#key]);
    const der = execFileSync('openssl', ['pkey', '-in', this.#key, '-pubout', '-outform', 'DER']);
    this.jwk = { kty: 'OKP', crv: 'Ed25519', kid, x: der.subarray(-32).toString('base64url') };
  }

  /** Writes the JWKS file of these issuers, and returns its path. */
  keys(...others: LicenceIssuer[]): string {
    const path = join(this.folder, 'keys.json');
    writeFileSync(path, JSON.stringify({ keys: [this, ...others].map(({ jwk }) => jwk) }));
    return path;
  }

  issue(payload: object, header: object = {}): string {
    return this.sign(
      JSON.stringify({ alg: 'EdDSA', typ: 'svc-licence+jws', kid: this.kid, ...header }),
      payload,
    );
  }

  sign(header: string, payload: object | string): string {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    const signed = [header, text].map((part) => Buffer.from(part).toString('base64url')).join('.');
    const [input, output] = ['input', 'signature'].map((name) => join(this.folder, name)) as [string, string];
    writeFileSync(input, signed);
    execFileSync('openssl', [
      'pkeyutl',
      '-sign',
      '-inkey',
      this.#key,
      '-rawin',
      '-in',
      input,
      '-out',
      output,
    ]);
    return `${signed}.${readFileSync(output).toString('base64url')}`;
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export const licence = (members: object = {}, now = Date.now()) => ({
  licenseId: 'L-1',
  licensedTo: 'Ordnance Survey of Nowhere',
  edition: 'pro',
  issuedAt: new Date(now - DAY_MS).toISOString(),
  expiresAt: new Date(now + 365 * DAY_MS).toISOString(),
  entitlements: ['spatial-analytics'],
  ...members,
});
