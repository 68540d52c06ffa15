import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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
}

export interface Report {
  bench: string;
  command: string;
  about: string;
  figures: Figure[];
  ratios: Ratio[];
  notes?: string[];
}

const number = (value: number) =>
  value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : value.toPrecision(3);

function markdown(report: Report): string {
  const columns = Object.keys(report.figures[0]?.rounds ?? {});
  const rows = report.figures.map(
    (figure) =>
      `| ${figure.name} | ${columns.map((column) => number(median(figure.rounds[column] ?? [Number.NaN]))).join(' | ')} |`,
  );
  const ratios = report.ratios.map(({ what, rounds, goal }) => {
    const range = `${number(Math.min(...rounds))} to ${number(Math.max(...rounds))}`;
    const verdict =
      goal === undefined ? '' : median(rounds) >= goal ? ` (goal ${goal}: met)` : ` (goal ${goal}: MISSED)`;
    return `- ${what}: **${number(median(rounds))}**, rounds ${range}${verdict}`;
  });
  return [
    `## ${report.bench}`,
    '',
    report.about,
    '',
    `Command: \`${report.command}\`. Machine: ${cpus().length} x ${cpus()[0]!.model.trim()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}. Medians of ${report.ratios[0]?.rounds.length ?? 0} interleaved rounds.`,
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
  mkdirSync(RESULTS, { recursive: true });
  const text = markdown(report);
  writeFileSync(
    `${RESULTS}/${report.bench}.json`,
    `${JSON.stringify({ ...report, machine: cpus()[0]!.model.trim(), node: process.version }, null, 2)}\n`,
  );
  writeFileSync(`${RESULTS}/${report.bench}.md`, text);
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
