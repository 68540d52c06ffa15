import { readdirSync, readFileSync } from 'node:fs';

interface Process {
  pid: number;
  parent: number;
  title: string;
}

/** Every process of this machine that can be read, from /proc. */
function processes(): Process[] {
  const found: Process[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The name stands in brackets and may hold spaces; the state and the parent follow it.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state === 'Z') continue;
      const title = readFileSync(`/proc/${name}/cmdline`, 'utf8').replace(/\0+$/, '').replace(/\0/g, ' ');
      found.push({ pid: Number(name), parent: Number(parent), title });
    } catch {
      // It ended in between.
    }
  }
  return found;
}

/** Children of a process whose title says what they are. */
function childrenOf(parent: number, title: string): number[] {
  return processes()
    .filter((process) => process.parent === parent && process.title.startsWith(title))
    .map((process) => process.pid);
}

export function gateways(supervisor: number): number[] {
  return childrenOf(supervisor, 'graticule: gateway');
}

/** Processes that do tasks of jobs. */
export function taskHosts(supervisor: number): number[] {
  return gateways(supervisor).flatMap((gateway) => childrenOf(gateway, 'graticule: process'));
}

export function engines(supervisor: number): number[] {
  return childrenOf(supervisor, 'graticule: engine');
}

/** A process and all that come from it, itself first. */
export function family(root: number): number[] {
  const all = processes();
  const found = [root];
  for (const parent of found) found.push(...all.filter((one) => one.parent === parent).map(({ pid }) => pid));
  return found;
}

export function titleOf(pid: number): string | undefined {
  return processes()
    .find((process) => process.pid === pid)
    ?.title.trim();
}

/** Memory of a process that is in RAM. */
export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;
}

export function alive(pid: number): boolean {
  return processes().some((process) => process.pid === pid);
}

interface LogLine {
  '@l'?: string;
  '@m'?: string;
  '@mt'?: string;
  '@x'?: string;
  [name: string]: unknown;
}

/** The log of a server, line by line (CLEF); text that is not JSON is left out. */
export function logLines(log: string): LogLine[] {
  return log
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as LogLine];
      } catch {
        return [];
      }
    });
}

/** What a server logged as its own fault. */
export function errorLines(log: string): LogLine[] {
  return logLines(log).filter(
    (line) =>
      line['@l'] === 'Error' ||
      line['@l'] === 'Fatal' ||
      /TypeError|RangeError|ReferenceError/.test(line['@x'] ?? ''),
  );
}
