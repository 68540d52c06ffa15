import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const FOLDER = 'docs/decisions';
const files = readdirSync(FOLDER)
  .filter((name) => name !== 'README.md')
  .sort();

describe('decisions', () => {
  it('are numbered without gaps, with title, date and status', () => {
    files.forEach((name, i) => {
      const number = i + 1;
      expect(name).toMatch(new RegExp(`^${String(number).padStart(4, '0')}-[a-z0-9-]+\\.md$`));
      expect(readFileSync(`${FOLDER}/${name}`, 'utf8')).toMatch(
        new RegExp(
          `^# ${number}\\. .+\n\nDate: 20\\d\\d-\\d\\d-\\d\\d\\. Status: (accepted|superseded by)\\b.*\\.\n\n.{40,}`,
        ),
      );
    });
  });

  it('stand in their table, each once, by its title and date', () => {
    const rows = [
      ...readFileSync(`${FOLDER}/README.md`, 'utf8').matchAll(/^\| \[(\d+)\]\((.+?)\) \| (.+) \| (.+) \|$/gm),
    ];
    const expected = files.map((name) => {
      const [, number, title, date] = /^# (\d+)\. (.+)\n\nDate: (.+?)\./.exec(
        readFileSync(`${FOLDER}/${name}`, 'utf8'),
      )!;
      return [number, name, title, date];
    });
    expect(rows.map(([, ...row]) => row)).toEqual(expected);
  });

  it('name others by files that are there', () => {
    for (const name of files)
      for (const [, target] of readFileSync(`${FOLDER}/${name}`, 'utf8').matchAll(/\]\(([^)]+\.md)\)/g))
        expect(files, `${name} links to ${target}`).toContain(target);
  });
});

it('the help of run names every bench', () => {
  const words = spawnSync('./run', ['help'], { encoding: 'utf8' }).stdout.split(/\s+/);
  const benches = readdirSync('bench').flatMap((name) => /^(.+)\.bench\.ts$/.exec(name)?.[1] ?? []);
  expect(benches.length).toBeGreaterThan(15);
  expect(words).toEqual(expect.arrayContaining(benches));
});
