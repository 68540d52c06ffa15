import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HostChecks } from '../../src/services/observability/host-checks.js';
import { startPostgres } from '../support/postgres.js';
import { startServerProcess } from '../support/server.js';

const folder = mkdtempSync(join(tmpdir(), 'graticule-host-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Makes a certificate that ends after a number of days. Negative: it ended. */
function makeCertificate(days: number): { cert: string; key: string } {
  const files = { cert: join(folder, `${days}.pem`), key: join(folder, `${days}.key`) };
  const of = (offset: number) =>
    new Date(Date.now() + offset * 86_400_000).toISOString().replace(/[-:T]|\..*/g, '');
  const request = [
    'req',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-subj',
    '/CN=maps',
  ];
  const signing = join(folder, 'request.pem');
  execFileSync('openssl', [...request, '-keyout', files.key, '-out', signing], { stdio: 'ignore' });
  const database = join(folder, `index-${days}`);
  execFileSync('touch', [database]);
  const config = join(folder, `ca-${days}.cnf`);
  execFileSync('sh', ['-c', `printf '${CA_CONFIG(database)}' > ${config}`]);
  execFileSync(
    'openssl',
    [
      ...[
        'ca',
        '-batch',
        '-selfsign',
        '-config',
        config,
        '-in',
        signing,
        '-keyfile',
        files.key,
        '-out',
        files.cert,
      ],
      ...['-startdate', `${of(-100)}Z`, '-enddate', `${of(days)}Z`, '-notext'],
    ],
    { stdio: 'ignore' },
  );
  return files;
}

const CA_CONFIG = (database: string) =>
  [
    ...['[ca]', 'default_ca=c', '[c]', `database=${database}`, `new_certs_dir=${folder}`, 'rand_serial=yes'],
    ...['default_md=sha256', 'policy=p', '[p]', 'commonName=supplied', ''],
  ].join('\\n');

describe('checks of the machine', () => {
  const check = async (options: { certificate?: string; skewMs?: number }, looks = 1) => {
    const lines: unknown[] = [];
    const checks = new HostChecks({
      certificate: options.certificate,
      readStateTime: async () => Date.now() - (options.skewMs ?? 0),
      log: { write: (...line: unknown[]) => void lines.push(line) } as never,
    });
    for (let i = 0; i < looks; i++) await checks.look();
    return { list: checks.list(), lines };
  };

  it.each([
    [30, 'Healthy', []],
    [13, 'Degraded', ['http.certificate.expiring', 12]],
    [-1, 'Unhealthy', ['http.certificate.expired', -2]],
  ] as const)('a certificate that ends in %i days is %s', async (days, status, line) => {
    const { cert } = makeCertificate(days);
    const { list, lines } = await check({ certificate: cert }, 3);
    expect(list.find(({ name }) => name === 'tls-certificate')).toEqual({
      ...{ name: 'tls-certificate', status },
      description: expect.stringMatching(days < 0 ? / expired at \d{4}-/ : / expires at \d{4}-/),
    });
    const [event, left] = line;
    expect(lines).toEqual(event === undefined ? [] : [[event, { End: expect.any(String), Days: left }]]);
  });

  it.each([
    [0, 'Healthy', 'agree'],
    [-60_000, 'Degraded', '60 seconds behind'],
    [60_000, 'Degraded', '60 seconds ahead of'],
  ])('a clock that differs by %i ms is %s', async (skewMs, status, words) => {
    const { list, lines } = await check({ skewMs }, 3);
    expect(list).toEqual([{ name: 'clock', status, description: expect.stringContaining(words) }]);
    expect(lines).toEqual(skewMs === 0 ? [] : [['process.clock.skewed', { Seconds: skewMs / 1000 }]]);
  });

  it('name a wrong clock in the snapshot, the metrics and the log of a server', async () => {
    const postgres = await startPostgres();
    const server = await startServerProcess({
      sources: ['demo/data/world_map.gpkg'],
      env: {
        SVC_STATE__URL: postgres.url,
        SVC_OBSERVABILITY: 'true',
        LD_PRELOAD: '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1',
        FAKETIME: '+90s',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
    });
    try {
      const read = async (path: string) =>
        (await fetch(server.url + path, { headers: { 'x-api-key': server.adminKey } })).text();
      const { ready, checks } = JSON.parse(await read('/healthz/metrics'));
      expect(ready).toBe(true);
      expect(checks).toContainEqual({
        ...{ name: 'clock', healthy: false, detail: expect.stringMatching(/(89|90|91) seconds ahead of/) },
      });
      const metrics = await read('/metrics');
      expect(Number(/^svc_clock_skew_seconds ([\d.]+)/m.exec(metrics)![1])).toBeCloseTo(90, -1);
      // Lines of the log are written a moment later.
      await expect.poll(() => server.log()).toContain('"@i":1108');
    } finally {
      await server.stop();
      await postgres.stop();
    }
  });
});
