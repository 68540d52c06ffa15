import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const FOLDER = 'docs/decisions';
/** Words of one decision: longer ones are documentation. */
const MAX_WORDS = 450;
const files = readdirSync(FOLDER)
  .filter((name) => name !== 'README.md')
  .sort();
const read = (name: string) => readFileSync(`${FOLDER}/${name}`, 'utf8');

/** Returns the name of the file of a decision. */
function fileName(number: string, title: string): string {
  const words = title.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return `${number.padStart(4, '0')}-${words.join('-')}.md`;
}

it.each(files)('decision %s has its title as its name, and the four sections', (name) => {
  const text = read(name);
  const [, number, title] = /^# (\d+)\. (.+)\n\nDate: 20\d\d-\d\d-\d\d\. Status: accepted\b.*\.\n/.exec(
    text,
  )!;
  expect(name).toBe(fileName(number!, title!));
  const sections = [...text.matchAll(/^## (.+)\n\n\S/gm)].map(([, section]) => section);
  expect(sections).toEqual(['Context', 'Choice', 'Measured', 'Consequence']);
  expect(text.split(/\s+/).length).toBeLessThan(MAX_WORDS);
});

it.each(files)('decision %s names files that exist', (name) => {
  const paths = [...read(name).matchAll(/`((?:src|test|bench)\/[^`\s]+)`/g)].map(([, path]) => path!);
  expect(paths.filter((path) => !existsSync(path))).toEqual([]);
});

it('the index lists each decision once, by its title and date', () => {
  const rows = [...read('README.md').matchAll(/^\| \[(\d+)\]\((.+?)\) \| (.+) \| (.+) \|$/gm)];
  const listed = rows.map(([, ...row]) => row).sort((a, b) => Number(a[0]) - Number(b[0]));
  const expected = files.map((name) => {
    const [, number, title, date] = /^# (\d+)\. (.+)\n\nDate: (.+?)\./.exec(read(name))!;
    return [number, name, title, date];
  });
  expect(listed).toEqual(expected);
});

it('pages, comments and decisions refer to decisions that exist', () => {
  const { stdout } = spawnSync('git', ['grep', '-nIE', 'decision|[0-9]\\]\\(0[0-9]{3}-'], {
    encoding: 'utf8',
  });
  const numbers = new Set(files.map((name) => String(Number(name.slice(0, 4)))));
  const lost = stdout.split('\n').filter((line) => {
    const named = [...line.matchAll(/\b(0\d{3}-[a-z0-9-]+\.md)/g)].some(([, name]) => !files.includes(name!));
    return named || [...line.matchAll(/\bdecisions? (\d+)\b/g)].some(([, number]) => !numbers.has(number!));
  });
  expect(lost).toEqual([]);
});

it('the help of run names every bench', () => {
  const words = spawnSync('./run', ['help'], { encoding: 'utf8' }).stdout.split(/\s+/);
  const benches = readdirSync('bench').flatMap((name) => /^(.+)\.bench\.ts$/.exec(name)?.[1] ?? []);
  expect(benches.length).toBeGreaterThan(15);
  expect(words).toEqual(expect.arrayContaining(benches));
});
