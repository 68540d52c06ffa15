import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LOG_EVENTS } from '../../../src/core/kit/log-events.js';

const names = Object.keys(LOG_EVENTS);
const sources = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !/^(console|client)\//.test(path))
  .map((path) => ({ path, text: readFileSync(join('src', path), 'utf8') }));

describe('kinds of log lines', () => {
  it('have an id and a name of their own', () => {
    const ids = Object.values(LOG_EVENTS).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    for (const id of ids) expect(id).toSatisfy((n: number) => Number.isInteger(n) && n >= 1000 && n < 2000);
    for (const name of names) expect(name).toMatch(/^[a-z]+(\.[a-z]+)+$/);
  });

  it('are those that are written, and no line is written without one', () => {
    const written = sources
      .filter(({ path }) => path !== 'core/log-events.ts')
      .map(({ text }) => text)
      .join('\n');
    expect(names.filter((name) => !written.includes(`'${name}'`))).toEqual([]);
    // `Log.write` and the supervisor's `log` take names of the table alone: the compiler sees to that. This is the rest.
    const others = sources.filter(
      ({ path, text }) =>
        /\bconsole\.|\bpino\(|\blog\.(verbose|debug|info|warn|error|fatal)\(/.test(text) &&
        path !== 'services/telemetry/log.ts',
    );
    expect(others.map(({ path }) => path)).toEqual([]);
  });

  it('are listed in docs/reference/server/logs.md', () => {
    const printed = execFileSync(process.execPath, ['dist/gateway/telemetry/documents.js', 'logging'], {
      encoding: 'utf8',
    });
    expect(readFileSync('docs/reference/server/logs.md', 'utf8')).toBe(printed);
  });
});
