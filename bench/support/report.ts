import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export interface Figure {
  name: string;
  /** Values by round. */
  rounds: Record<string, number[]>;
}

export interface Ratio {
  what: string;
  /** By round; the goal is held against the median. */
  rounds: number[];
  goal?: number;
  /** A goal that the median is not to exceed. */
  most?: number;
}

export interface Report {
  bench: string;
  command: string;
  about: string;
  figures: Figure[];
  ratios: Ratio[];
  notes?: string[];
  /** Values that stand in the JSON only. */
  data?: unknown;
}

const number = (value: number) =>
  value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toPrecision(3);

function verdictOf({ rounds, goal, most }: Ratio): string {
  if (goal !== undefined) return ` (goal ${goal}: ${median(rounds) >= goal ? 'met' : 'MISSED'})`;
  if (most !== undefined) return ` (at most ${most}: ${median(rounds) <= most ? 'met' : 'MISSED'})`;
  return '';
}

const countRounds = ({ ratios, figures }: Report) =>
  (ratios[0]?.rounds ?? Object.values(figures[0]?.rounds ?? {})[0] ?? []).length;

function markdown(report: Report, title = `## ${report.bench}`): string {
  const columns = Object.keys(report.figures[0]?.rounds ?? {});
  const rows = report.figures.map(
    (figure) =>
      `| ${figure.name} | ${columns.map((column) => number(median(figure.rounds[column] ?? [Number.NaN]))).join(' | ')} |`,
  );
  const ratios = report.ratios.map((ratio) => {
    const { what, rounds } = ratio;
    const range = `${number(Math.min(...rounds))} to ${number(Math.max(...rounds))}`;
    return `- ${what}: **${number(median(rounds))}**, rounds ${range}${verdictOf(ratio)}`;
  });
  return [
    title,
    '',
    report.about,
    '',
    `Command: \`${report.command}\`. Machine: ${cpus().length} x ${cpus()[0]!.model.trim()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}. Medians of ${countRounds(report)} interleaved rounds.`,
    '',
    `| | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---:').join('|')}|`,
    ...rows,
    '',
    ...ratios,
    ...(report.notes ?? []).map((note) => `- ${note}`),
    '',
  ].join('\n');
}

/** Prints the report and writes bench/results/NAME.json and .md. */
export function publish(report: Report): void {
  keep(report.bench, { ...report, ...machine() }, markdown(report));
}

/** The same for one part of a benchmark, whose other parts stay as they were measured last. */
export function publishPart(part: string, report: Report): void {
  const path = `${RESULTS}/${report.bench}.json`;
  const before = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).parts : {};
  const text = markdown(report, `### ${report.bench}: ${part}`);
  const parts: Record<string, { text: string }> = { ...before, [part]: { ...report, ...machine(), text } };
  const names = Object.keys(parts).sort();
  const texts = names.map((name) => parts[name]!.text);
  keep(report.bench, { bench: report.bench, parts }, [`## ${report.bench}\n`, ...texts].join('\n'));
}

const machine = () => ({ machine: cpus()[0]!.model.trim(), node: process.version });

function keep(bench: string, values: object, text: string): void {
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(`${RESULTS}/${bench}.json`, `${JSON.stringify(values, null, 2)}\n`);
  writeFileSync(`${RESULTS}/${bench}.md`, text);
  writeFileSync('bench/RESULTS.md', allResults());
  console.log(text);
}

const RESULTS = 'bench/results';

/** What each benchmark said last, in one document. */
function allResults(): string {
  const names = readdirSync(RESULTS).filter((name) => name.endsWith('.md'));
  const head =
    '# Results\n\nWritten by `./run bench NAME`; what each measures and how stands in README.md.\n';
  return [head, ...names.sort().map((name) => readFileSync(join(RESULTS, name), 'utf8'))].join('\n');
}

/** `--name value` from the command line, as a number. */
export function option(name: string, fallback: number): number {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

/** `--name value` from the command line, as text. */
export function textOption(name: string): string | undefined {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}
