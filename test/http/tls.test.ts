import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get as getPlain, type IncomingHttpHeaders } from 'node:http';
import { Agent, get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { makeServerCertificate } from '../support/certificates.js';
import { freePort } from '../support/ports.js';
import { startServer, type TestServer } from '../support/server.js';

/** A server that speaks TLS itself. */

const folder = mkdtempSync(join(tmpdir(), 'graticule-tls-'));
const cert = join(folder, 'cert.pem');
const key = join(folder, 'key.pem');
let server: TestServer;
let redirectPort: number;

const [first, second] = [makeServerCertificate(folder, 'first'), makeServerCertificate(folder, 'second')];

function use(files: { cert: string; key: string }): void {
  // The key first: what does not fit together is not taken over.
  cpSync(files.key, key);
  cpSync(files.cert, cert);
}

beforeAll(async () => {
  use(first);
  redirectPort = await freePort();
  server = await startServer({
    sources: ['demo/data/years'],
    ca: readFileSync(first.cert, 'utf8'),
    env: {
      ...{ SVC_SERVER__TLS__CERT: cert, SVC_SERVER__TLS__KEY: key },
      SVC_SERVER__TLS__REDIRECT_PORT: String(redirectPort),
    },
  });
});
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

const trust = [first, second].map((files) => readFileSync(files.cert, 'utf8'));

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  name: string;
}
function ask(path: string, options: object = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = get(
      `${server.url}${path}`,
      { ca: trust, agent: new Agent(), ...options },
      async (response) => {
        let body = '';
        for await (const part of response.setEncoding('utf8')) body += part;
        const { CN } = (response.socket as TLSSocket).getPeerCertificate().subject;
        resolve({ status: response.statusCode!, headers: response.headers, body, name: String(CN) });
      },
    );
    call.on('error', reject);
  });
}

describe('TLS', () => {
  it('answers with links over HTTPS', async () => {
    const { status, body, name } = await ask('/ogc/coverages?f=json');
    expect([status, name]).toEqual([200, 'first']);
    expect(body).toContain(`${server.url}/ogc/coverages`);
    expect(body).not.toContain('http://127.0.0.1');
  });

  it('sets cookies that only HTTPS carries', async () => {
    const { headers } = await ask('/account/sign-out', { method: 'POST' }).catch(() => ({
      headers: {} as IncomingHttpHeaders,
    }));
    expect(headers['set-cookie']?.[0]).toMatch(/^__Host-graticule=; .*Secure$/);
  });

  it('warns before the certificate ends', async () => {
    const headers = { 'x-api-key': server.adminKey };
    const { body } = await ask('/healthz/metrics', { headers });
    const { ready, checks } = JSON.parse(body) as { ready: boolean; checks: { name: string }[] };
    expect(ready).toBe(true);
    expect(checks.find(({ name }) => name === 'tls-certificate')).toEqual({
      ...{ name: 'tls-certificate', healthy: false },
      detail: expect.stringMatching(/^The TLS certificate expires at \d{4}-\d\d-\d\dT/),
    });
  });

  it('speaks nothing older than TLS 1.2', async () => {
    const protocol = (maxVersion: 'TLSv1.1' | 'TLSv1.2') =>
      new Promise((resolve) => {
        const { hostname, port } = new URL(server.url);
        const options = {
          host: hostname,
          port: Number(port),
          ca: trust,
          minVersion: 'TLSv1' as const,
          maxVersion,
        };
        // Old protocols need old ciphers on this side.
        const socket = connect({ ...options, ciphers: 'DEFAULT@SECLEVEL=0' }, () => {
          resolve(socket.getProtocol());
          socket.destroy();
        });
        socket.on('error', () => resolve('refused'));
      });
    expect(await protocol('TLSv1.1')).toBe('refused');
    expect(await protocol('TLSv1.2')).toBe('TLSv1.2');
  });

  it('leads from plain HTTP to the same address', async () => {
    const location = await new Promise((resolve) => {
      getPlain(`http://127.0.0.1:${redirectPort}/ogc/maps?f=json`, (response) => {
        response.resume();
        resolve([response.statusCode, response.headers.location]);
      });
    });
    expect(location).toEqual([308, `${server.url}/ogc/maps?f=json`]);
  });

  it('takes another certificate over while streams go on', async () => {
    const stream = new WebSocket(
      `${server.url.replace('https', 'wss')}/api/v1/streaming/features?serviceId=default`,
      {
        ca: trust,
        headers: { 'x-api-key': server.adminKey },
      },
    );
    await new Promise((resolve, reject) => stream.once('message', resolve).once('error', reject));
    // A file that is no certificate is not taken over.
    writeFileSync(cert, 'nonsense');
    await expect.poll(() => server.log(), { timeout: 60_000 }).toContain('"@i":1005');
    expect((await ask('/healthz/live')).name).toBe('first');
    use(second);
    await expect.poll(async () => (await ask('/healthz/live')).name, { timeout: 60_000 }).toBe('second');
    const pong = new Promise((resolve) => stream.once('pong', resolve));
    stream.ping();
    await pong;
    stream.close();
  });

  it('is refused at the start with files that do not fit together', async () => {
    const env = { SVC_SERVER__TLS__CERT: first.cert, SVC_SERVER__TLS__KEY: second.key };
    await expect(startServer({ sources: ['demo/data/years'], ca: trust[0]!, env })).rejects.toThrow(
      /server\.tls/,
    );
  });
});
