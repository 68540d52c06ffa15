import { readdirSync, readFileSync } from 'node:fs';

/** What a client with a key asks for while a server is flooded: items, maps and edits in turn. */

export interface Ask {
  kind: 'items' | 'maps' | 'edits';
  path: string;
  init?: { method: string; body: string };
}

/** Milliseconds by kind of request, and those that failed by status. */
export interface Times {
  items: number[];
  maps: number[];
  edits: number[];
  failed: Record<number, number>;
  /** Bytes of memory of all processes of the server, at most. */
  peakBytes: number;
}

/** Milliseconds between two looks at the memory. */
const LOOK_MS = 250;

/** Asks without pause, one request after the other, until it is stopped. */
export async function ask(
  origin: string,
  asks: (i: number) => Ask,
  { stopped, headers, pid }: { stopped(): boolean; headers: Record<string, string>; pid: number },
): Promise<Times> {
  const times: Times = { items: [], maps: [], edits: [], failed: {}, peakBytes: 0 };
  const look = setInterval(() => {
    times.peakBytes = Math.max(times.peakBytes, memoryOf(pid));
  }, LOOK_MS);
  for (let i = 0; !stopped(); i++) {
    const { kind, path, init } = asks(i);
    const begin = performance.now();
    const json: Record<string, string> = init ? { 'content-type': 'application/geo+json' } : {};
    const status = await fetch(origin + path, { ...init, headers: { ...headers, ...json } }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    times[kind].push(performance.now() - begin);
    if (status >= 300 || status === 0) times.failed[status] = (times.failed[status] ?? 0) + 1;
  }
  clearInterval(look);
  return times;
}

/** Proportional set size of a process and all below it: what they share is counted once. */
export function memoryOf(pid: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]));
    } catch {
      // The process ended while it was looked at.
    }
  }
  const isOurs = (id: number | undefined): boolean =>
    id !== undefined && id > 1 && (id === pid || isOurs(parents.get(id)));
  let bytes = 0;
  for (const id of parents.keys()) if (isOurs(id)) bytes += pssOf(id);
  return bytes;
}

function pssOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** The value below which a part of the values lies; NaN for none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
