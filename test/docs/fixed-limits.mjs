/** Prints docs/reference/server/limits.md: `node test/docs/fixed-limits.mjs > docs/reference/server/limits.md`. It reads `limits.ts` of each room. */
import { readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const SHARED = 'src/core/kit/limits.ts';
/** What applies where the settings say nothing: docs/reference/server/settings.md has it. */
const SETTINGS = 'src/core/config/limits.ts';
const HEAD = `# Fixed limits

This page lists the limits that no setting changes. [Settings](settings.md) lists configurable limits. "(contract)" marks numbers of the interface contract. [Request limits](request-limits.md) lists the responses to requests that exceed a limit.

Names are from the code. Each heading is a module; its limits are in \`limits.ts\` of that module.
`;
const KIB = 1024;
const BYTES = [
  [KIB ** 3, 'GiB'],
  [KIB ** 2, 'MiB'],
  [KIB, 'KiB'],
];
const MILLISECONDS = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
  [1000, 's'],
];
/** Units by the ends of names. */
const UNITS = [
  [/Bytes$/, 'bytes', BYTES],
  [/Ms$/, 'ms', MILLISECONDS],
  [/Seconds$/, 's', []],
  [/Days$/, 'days', []],
];

/** A comment with its members, in an object of limits. */
const GROUP = /\/\*\*([\s\S]*?)\*\/\n((?: {2}\w+: [\w. *]+,\n)+)/g;

/** The groups of a file: what the comment says, and the members below it with their numbers. */
function readGroups(path) {
  const [, body] = /^export const \w*LIMITS = \{\n([\s\S]*?)^\}/m.exec(readFileSync(path, 'utf8')) ?? [
    '',
    '',
  ];
  const groups = [...body.matchAll(GROUP)].map(([, comment, members]) => ({
    text: comment.replace(/\s+\*?\s*/g, ' ').trim(),
    members: [...members.matchAll(/(\w+): (.*),/g)].map(([, name, number]) => [name, computeNumber(number)]),
  }));
  const listed = groups.flatMap(({ members }) => members).length;
  const all = body.match(/^ {2}\w+:/gm)?.length ?? 0;
  if (listed !== all) throw new Error(`${path} has ${all} limits, and ${listed} stand below a comment`);
  return groups;
}

function computeNumber(text) {
  const factors = text.split(' * ').map((factor) => Number(factor.replaceAll('_', '')));
  return factors.reduce((product, factor) => product * factor, 1);
}

function format(name, value) {
  const [, unit, larger] = UNITS.find(([end]) => end.test(name)) ?? [/$/, '', []];
  const [size, word] = larger.find(([factor]) => value >= factor && value % factor === 0) ?? [1, unit];
  const count = (value / size).toLocaleString('en');
  return `${count} ${value === size ? word.replace(/s$/, (end) => (word.length > 2 ? '' : end)) : word}`.trim();
}

function printRoom(path) {
  const groups = readGroups(path);
  if (groups.length === 0) return '';
  const heading = path === SHARED ? 'Shared by several rooms' : path.split('/')[2];
  const rows = groups.map(
    ({ text, members }) =>
      `| ${text.replace(/\s+/g, ' ').replaceAll('|', '\\|')} | ${members.map(([name]) => `\`${name}\``).join(', ')} | ${members.map(([name, value]) => format(name, value)).join('; ')} |`,
  );
  return `\n## ${heading}\n\n| Limit | Names | Values |\n|---|---|---|\n${rows.join('\n')}\n`;
}

/** The page as it should be. */
export function printPage() {
  const room = (path) => path.split('/')[2];
  const paths = readdirSync('src', { recursive: true })
    .map((name) => `src/${name}`)
    .filter((path) => /^src\/\w+\/\w+\/limits\.ts$/.test(path) && ![SHARED, SETTINGS].includes(path));
  paths.sort((one, other) => room(one).localeCompare(room(other)));
  return HEAD + [SHARED, ...paths].map(printRoom).join('');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.stdout.write(printPage());
