import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const page = readFileSync('docs/how-to/install/deploy.md', 'utf8');

it('names files of deploy/ that are there, and all of them that operators copy', () => {
  const named = [...page.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => path);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
  expect(existsSync(join('deploy', /^cp (compose\/\S+) /m.exec(page)![1]!))).toBe(true);
  const units = readdirSync('deploy/systemd').map((name) => `deploy/systemd/${name}`);
  expect(units.filter((path) => !named.includes(path))).toEqual([]);
});

it('names values that the chart has', () => {
  const values = readFileSync('deploy/helm/graticule/values.yaml', 'utf8');
  for (const name of ['persistence', 'drainSeconds', 'readinessPath', 'serviceMonitor', 'worker'])
    for (const text of [page, values]) expect(text).toMatch(new RegExp(`\\b${name}\\b`));
});

it('is linked from the README and from docs/how-to/operate/scaling.md', () => {
  expect(readFileSync('README.md', 'utf8')).toContain('(docs/how-to/install/deploy.md)');
  expect(readFileSync('docs/how-to/operate/scaling.md', 'utf8')).toContain('(../install/deploy.md)');
});
