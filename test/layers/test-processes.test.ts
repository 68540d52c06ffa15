import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** Changes that another test file in the same process would meet. */
const CHANGES_OF_PROCESS = [
  /\bvi\.(?!waitFor\b)/,
  /\bprocess\.env(\.\w+|\[[^\]]+\]) *\??\??=[^=]|delete process\.env/,
  /[^.]process\.(chdir|umask|on\(|once\(|title)/,
];

/** Units put back what they replace; `--sequence.shuffle.files` finds those that do not. */
const FREE = /^(access|core|cql2|layers|native|stores|symbols|telemetry|workers)\/|\/(unit|alone)\//;

it('only units and files in folders called alone in folders called alone change the process that they run in', () => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  expect(files.length).toBeGreaterThan(400);
  const changing = files.filter((name) =>
    CHANGES_OF_PROCESS.some((change) => change.test(readFileSync(`test/${name}`, 'utf8'))),
  );
  expect(changing.filter((name) => !FREE.test(name))).toEqual([]);
  expect(changing.filter((name) => name.includes('/alone/')).length).toBeGreaterThan(5);
});
