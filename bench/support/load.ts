import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const exec = promisify(execFile);

/** One measured interval of one contender. */
export interface Sample {
  requestsPerSecond: number;
  /** CPU microseconds of the server process per request, user and system. */
  cpuMicrosPerRequest: number;
  p50Ms: number;
  p99Ms: number;
  bytesPerSecond: number;
  errors: number;
}

export interface LoadOptions {
  origin: string;
  /** Request targets, used in a fixed shuffled order. */
  paths: readonly string[];
  headers?: Record<string, string>;
  seconds: number;
  connections: number;
  /** Process whose CPU time is counted. */
  pid: number;
  /** Core of the load generator. */
  core: number;
}

const TICKS_PER_SECOND = 100;

/** CPU seconds a process and its threads have used. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Deterministic shuffle, so that every round and contender sees the same order. */
function shuffled(paths: readonly string[]): string[] {
  const list = [...paths];
  let seed = 42;
  for (let i = list.length - 1; i > 0; i--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = seed % (i + 1);
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
  return list;
}

/** Runs wrk, pinned to its core, for a fixed time against this machine. */
export async function load(options: LoadOptions): Promise<Sample> {
  const folder = mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const script = join(folder, 'load.lua');
  writeFileSync(script, luaScript(options));
  const before = cpuSeconds(options.pid);
  try {
    const { stdout } = await exec('taskset', [
      ...['-c', String(options.core), 'wrk', '-t1', `-c${options.connections}`, `-d${options.seconds}s`],
      ...['--latency', '-s', script, options.origin],
    ]);
    return parse(stdout, cpuSeconds(options.pid) - before);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function luaScript({ paths, headers }: LoadOptions): string {
  const list = shuffled(paths)
    .map((path) => JSON.stringify(path))
    .join(',');
  const head = Object.entries(headers ?? {}).map(
    ([name, value]) => `[${JSON.stringify(name)}]=${JSON.stringify(value)}`,
  );
  return `
local paths = {${list}}
local requests = {}
init = function()
  for i, path in ipairs(paths) do requests[i] = wrk.format("GET", path, {["Host"]=wrk.headers["Host"]${head.map((entry) => `,${entry}`).join('')}}) end
end
local i = 0
request = function() i = i % #requests + 1; return requests[i] end
done = function(summary, latency)
  local errors = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("RESULT %d %d %d %f %f %d\\n", summary.requests, summary.duration, summary.bytes,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, errors))
end`;
}

function parse(stdout: string, cpu: number): Sample {
  const line = /RESULT (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+) (\d+)/.exec(stdout);
  if (!line) throw new Error(`wrk said:\n${stdout}`);
  const [requests, micros, bytes, p50Ms, p99Ms, errors] = line.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    requestsPerSecond: requests / (micros / 1e6),
    cpuMicrosPerRequest: (cpu * 1e6) / requests,
    p50Ms,
    p99Ms,
    bytesPerSecond: bytes / (micros / 1e6),
    errors,
  };
}
