import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { saveConfig } from '../../../src/cli/settings.js';
import { ConfigError, loadConfig } from '../../../src/core/config/config.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'graticule-config-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): string {
  const path = join(folder, `${Math.random()}.yaml`);
  writeFileSync(path, text);
  return path;
}

function problemsOf(inputs: Parameters<typeof loadConfig>[0]): readonly string[] {
  try {
    loadConfig(inputs);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('where a setting comes from', () => {
  test('a flag wins over the environment, the environment over the file, the file over the default', () => {
    const path = file('server:\n  port: 1\n  host: from-file\n');
    const flags = { 'server.port': 3 };
    expect(loadConfig({ flags, env: { PORT: '2' }, file: path }).config.server.port).toBe(3);
    expect(loadConfig({ env: { PORT: '2' }, file: path }).config.server.port).toBe(2);
    expect(loadConfig({ file: path }).config.server.port).toBe(1);
    expect(loadConfig({}).config.server.port).toBe(8080);
    expect(loadConfig({ file: path }).config.server.host).toBe('from-file');
  });

  test('the long environment name of a nested setting is SVC_SECTION__SECTION__NAME', () => {
    const env = { SVC_OBSERVABILITY__PROMETHEUS__PATH: '/scrape' };
    expect(loadConfig({ env }).config.observability.prometheus.path).toBe('/scrape');
    expect(loadConfig({ env: { SVC_DATA__SOURCES: 'a,b' } }).config.data.sources).toEqual(['a', 'b']);
  });

  test('each default is a value that its setting takes', () => {
    const { config, settings } = loadConfig({});
    const env = Object.fromEntries(
      settings.map(({ env, default: value }) => [
        env,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    );
    const stated = loadConfig({ env });
    expect(stated.config).toEqual(config);
    // An empty text is as if nothing was said, and some settings have no default.
    const others = stated.settings.filter(({ source }) => source !== 'environment');
    expect(others.filter(({ default: value }) => value !== '' && value !== undefined)).toEqual([]);
  });

  test('a name may hold dots, in the file as in what is written of it', () => {
    const path = file('jobs:\n  limits:\n    tiles.cache: 7\n');
    const { config, settings } = loadConfig({ file: path });
    expect(config.jobs.limits['tiles.cache']).toBe(7);
    saveConfig(path, settings);
    expect(loadConfig({ file: path }).config.jobs.limits).toEqual({ ...config.jobs.limits });
    expect(
      loadConfig({ env: { SVC_JOBS__LIMITS__TILES__CACHE: '8' } }).config.jobs.limits['tiles.cache'],
    ).toBe(8);
  });

  test('each setting tells its source, and secrets are marked', () => {
    const { settings } = loadConfig({ env: { SVC_ADMIN_KEY: 'x' } });
    const key = settings.find((setting) => setting.path === 'security.adminKey');
    expect(key).toMatchObject({ source: 'environment', secret: true, env: 'SVC_ADMIN_KEY' });
  });
});

describe('a wrong configuration', () => {
  test('names every wrong value and where it came from', () => {
    const problems = problemsOf({ env: { PORT: 'http' }, file: file('server:\n  processes: 0\n') });
    expect(problems).toHaveLength(2);
    expect(problems.join()).toMatch(/server\.port: .*environment\./);
    expect(problems.join()).toMatch(/server\.processes: .*file\./);
  });

  test('names unknown settings', () => {
    expect(problemsOf({ file: file('server:\n  prot: 80\nservr: {}\n') })).toEqual([
      "server.prot: is not a setting. Did you mean 'port'?",
      "servr: is not a setting. Did you mean 'server'?",
    ]);
  });

  test.each([
    ['a list', '- a\n'],
    ['broken YAML', 'server: [\n'],
    ['a value in place of a section', 'server: 80\n'],
  ])('refuses %s', (_name, text) => {
    expect(problemsOf({ file: file(text) })).not.toHaveLength(0);
  });

  test('refuses a file that is not there', () => {
    expect(problemsOf({ file: join(folder, 'none.yaml') })[0]).toMatch(
      /--config: there is no file \S+\/none\.yaml\./,
    );
  });
});

describe('the public URL', () => {
  const load = (url: string) => ({ env: { SVC_SERVER__PUBLIC_URL: url } });

  test('is one of http or https with a path, or none', () => {
    for (const url of ['', 'https://maps.example.org', 'http://10.0.0.1:8080/base/'])
      expect(loadConfig(load(url)).config.server.publicUrl).toBe(url);
  });

  test('has no secret and nothing behind its path, because every link starts with it', () => {
    for (const url of [
      'foo',
      '/base',
      'ftp://a/b',
      'https://me:Sesame-4711@a/',
      'https://a/?k=1',
      'https://a/#b',
    ]) {
      expect(problemsOf(load(url))).toEqual([
        expect.stringMatching(
          /^server\.publicUrl: must be an http or https URL without user, .*received '.+'/,
        ),
      ]);
      expect(problemsOf(load(url)).join()).not.toContain('Sesame');
    }
  });
});

describe('the URL of the state', () => {
  const problems = (url: string) => problemsOf({ env: { SVC_STATE__URL: url } });

  test('is one of PostgreSQL, or none', () => {
    const { config, settings } = loadConfig({ env: { SVC_STATE__URL: 'postgresql://a:b@c/d' } });
    expect(config.state.url).toBe('postgresql://a:b@c/d');
    expect(settings.find(({ path }) => path === 'state.url')!.secret).toBe(true);
    expect(loadConfig({}).config.state.url).toBe('');
  });

  test('is refused without being told', () => {
    for (const url of ['mysql://a:secret@c/d', 'state.db', 'postgresql://a:secret@[c/d']) {
      expect(problems(url)).toEqual([
        expect.stringMatching(
          /^state\.url: must be the URL of a PostgreSQL database, .*received a value from the environment\.$/,
        ),
      ]);
      expect(problems(url).join()).not.toContain('secret');
    }
  });

  test('comes with bounds', () => {
    expect(problemsOf({ env: { SVC_STATE__CONNECTIONS: '0' } })).toHaveLength(1);
    expect(problemsOf({ env: { SVC_STATE__STATEMENT_MS: '1' } })).toHaveLength(1);
  });
});
