import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';

/**
 * Writes the processor time of each test file to the file that `GRATICULE_TEST_TIMES` names, as lines of JSON: seconds of the
 * test process, of its browsers, of other children that still run, and of children that have ended. The shared server of the run
 * is nobody's child and not counted.
 */

const OUTPUT = process.env['GRATICULE_TEST_TIMES'];
const TICKS_PER_SECOND = 100;

interface Times {
  test: number;
  browsers: number;
  running: number;
  ended: number;
}

interface ProcessTimes {
  pid: number;
  parent: number;
  name: string;
  own: number;
  /** Of its children that have ended. */
  ended: number;
}

/** Fields of `/proc/PID/stat` behind the name: state, parent, and, at 11 to 14, times in ticks. */
function processTimes(pid: number): ProcessTimes | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const end = stat.lastIndexOf(')');
    const fields = stat.slice(end + 2).split(' ');
    const seconds = (first: number) => (Number(fields[first]) + Number(fields[first + 1])) / TICKS_PER_SECOND;
    const name = stat.slice(stat.indexOf('(') + 1, end);
    return { pid, parent: Number(fields[1]), name, own: seconds(11), ended: seconds(13) };
  } catch {
    // It has ended.
    return undefined;
  }
}

function measure(): Times {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const all = pids.map((pid) => processTimes(Number(pid))).filter((one) => one !== undefined);
  const childrenOf = (parent: number) => all.filter((one) => one.parent === parent);
  const self = all.find(({ pid }) => pid === process.pid)!;
  const times: Times = { test: self.own, browsers: 0, running: 0, ended: self.ended };
  const below = childrenOf(process.pid);
  for (const child of below) {
    times[/chrom|headless/.test(child.name) ? 'browsers' : 'running'] += child.own + child.ended;
    below.push(...childrenOf(child.pid));
  }
  return times;
}

if (OUTPUT) {
  const before = measure();
  const { testPath } = expect.getState();
  afterAll(() => {
    const after = measure();
    const kinds = Object.keys(after) as (keyof Times)[];
    const spent = kinds.map((kind) => after[kind] - before[kind]);
    const seconds = (value: number) => Number(value.toFixed(2));
    const line = {
      file: relative(process.cwd(), testPath!),
      total: seconds(spent.reduce((sum, one) => sum + one, 0)),
      ...Object.fromEntries(kinds.map((kind, i) => [kind, seconds(spent[i]!)])),
    };
    appendFileSync(OUTPUT, `${JSON.stringify(line)}\n`);
  });
}
