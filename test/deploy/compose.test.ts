import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_TIMING } from '../../src/supervisor/slot.js';
import { lastOf, stagesOf } from './support/dockerfile.js';
import { seconds, settingsOf, TOOLS } from './support/settings.js';

interface Service {
  image: string;
  user?: string;
  command?: string[];
  environment?: Record<string, string>;
  read_only: boolean;
  cap_drop: string[];
  volumes?: string[];
  networks: string[];
  tmpfs: string[];
  stop_grace_period?: string;
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  ports?: string[];
}

const text = readFileSync('deploy/compose.yaml', 'utf8');
const compose = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } } | null>;
};
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
const { services } = compose;
const servers = ['graticule-1', 'graticule-2'].map((name) => services[name]!);
const config = settingsOf(readFileSync('deploy/compose/graticule.yaml', 'utf8'));

describe('the Compose file', () => {
  it('runs two servers of this version, each with a data folder of its own', () => {
    for (const { image } of servers) expect(image).toBe(`graticule:${version}`);
    const folder = lastOf(stagesOf().at(-1)!, 'VOLUME').text;
    const places = servers.map(({ volumes }) => volumes!.find((volume) => volume.endsWith(`:${folder}`)));
    expect(new Set(places)).toEqual(new Set([`graticule-1:${folder}`, `graticule-2:${folder}`]));
  });

  it('gives nobody a root that can be written to, or a capability', () => {
    for (const service of Object.values(services))
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        tmpfs: expect.anything(),
      });
  });

  it('starts each when what it needs is healthy', () => {
    for (const server of servers) {
      expect(server.depends_on).toMatchObject({
        db: { condition: 'service_healthy' },
        cache: { condition: 'service_healthy' },
      });
      for (const needed of Object.keys(server.depends_on!))
        expect(services[needed]!.healthcheck).toBeDefined();
    }
    expect(Object.keys(services['nginx']!.depends_on!)).toEqual(['graticule-1', 'graticule-2']);
  });

  it('lets the world to nginx alone, and nginx not to the database', () => {
    expect(Object.keys(services).filter((name) => services[name]!.ports)).toEqual(['nginx']);
    expect(services['nginx']!.networks).toEqual(['front']);
    for (const name of ['db', 'cache']) expect(services[name]!.networks).toEqual(['back']);
    expect(compose.networks['back']!.internal).toBe(true);
  });

  it('waits until a server has stopped by itself', () => {
    for (const { stop_grace_period } of servers)
      expect(seconds(stop_grace_period!) * 1000).toBeGreaterThan(2 * DEFAULT_TIMING.drainMs);
  });

  it('has no password in it, and does not start without', () => {
    const asked = ['GRATICULE_ADMIN_KEY', 'POSTGRES_PASSWORD'];
    const values = servers.flatMap(({ environment }) => Object.values(environment!));
    expect(values.every((value) => asked.some((name) => value.startsWith(`\${${name}:?`)))).toBe(true);
    const example = readFileSync('deploy/compose/example.env', 'utf8');
    for (const name of asked) expect(example).toMatch(new RegExp(`^${name}=$`, 'm'));
  });

  it('mounts files that are there', () => {
    const places = Object.values(services).flatMap(({ volumes = [] }) => volumes);
    const files = places.flatMap((volume) => /^(\.\/compose\/[^:]+):/.exec(volume)?.[1] ?? []);
    expect(files.length).toBe(3);
    for (const file of files) expect(existsSync(join('deploy', file))).toBe(true);
  });
});

describe('the configuration of its servers', () => {
  it('is one that the server takes, with what they share', () => {
    const { hostname, username, password } = new URL(config.state.url);
    expect(services[hostname]?.environment).toMatchObject({ POSTGRES_USER: username });
    expect(password).toBe('');
    expect(services[new URL(config.cache.redis.url).hostname]?.command?.[0]).toBe('redis-server');
    expect(config.data.sources).toEqual(['/data', config.state.url]);
  });

  it('believes the proxies of its own network', () => {
    expect(config.server.trustProxy).toEqual(
      compose.networks['front']!.ipam!.config.map(({ subnet }) => subnet),
    );
  });
});

describe('the configuration of nginx', () => {
  it('is that of docs/how-to/operate/scaling.md, for two servers and a port that needs no root', () => {
    const page = readFileSync('docs/how-to/operate/scaling.md', 'utf8');
    const [, block] = /```nginx graticule.conf\n(.*?)```/s.exec(page)!;
    const own = readFileSync('deploy/compose/graticule.conf', 'utf8').replace(/^#.*\n/, '');
    const lines = (of: string) => of.replace('listen 80;', 'listen 8080;').split('\n');
    const withoutServers = (of: string) => lines(of).filter((line) => !/^ +server [^{]+;$/.test(line));
    expect(withoutServers(own)).toEqual(withoutServers(block!));
    const [, options] = /server 127\.0\.0\.1:8081( .*;)/.exec(block!)!;
    expect(lines(own).filter((line) => /^ +server [^{]+;$/.test(line))).toEqual(
      ['graticule-1', 'graticule-2'].map((name) => `    server ${name}:8080${options}`),
    );
    expect(services['nginx']!.ports).toEqual([expect.stringMatching(/:8080$/)]);
  });
});

describe.skipIf(!TOOLS)("Compose's own loader", () => {
  const load = (env: Record<string, string>) =>
    execFileSync(join(TOOLS!, 'compose'), ['deploy/compose.yaml'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...env },
    });

  it('takes it when the passwords are there', () => {
    const written = load({ GRATICULE_ADMIN_KEY: 'key', POSTGRES_PASSWORD: 'word' });
    const loaded = parse(written) as { services: Record<string, { environment: Record<string, string> }> };
    expect(Object.keys(loaded.services).sort()).toEqual(Object.keys(services).sort());
    expect(loaded.services['graticule-2']!.environment).toMatchObject({
      SVC_ADMIN_KEY: 'key',
      PGPASSWORD: 'word',
    });
  });

  it('refuses it when one is missing', () => {
    expect(() => load({ GRATICULE_ADMIN_KEY: 'key' })).toThrow(/POSTGRES_PASSWORD/);
  });
});
