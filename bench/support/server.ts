import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface BenchServer {
  origin: string;
  /** The process that answers requests. */
  pid: number;
  stop(): Promise<void>;
}

/** Ours, which may have several processes that answer requests: `pid` is the first of them. */
export interface GraticuleServer extends BenchServer {
  pids: readonly number[];
}

/** Resolves once a URL answers; rejects when it does not for two minutes, or its process has ended. */
export async function answers(url: string, child?: ChildProcess): Promise<void> {
  for (let i = 0; i < 1200; i++) {
    if (child && child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${url} does not answer`);
}

/** Children of a process by their title. */
export function childrenTitled(parent: number, title: string): number[] {
  const children: number[] = [];
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const ppid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
      if (ppid === parent && readFileSync(`/proc/${name}/cmdline`, 'utf8').startsWith(title))
        children.push(Number(name));
    } catch {
      // The process ended while it was looked at.
    }
  }
  if (children.length === 0) throw new Error(`no process ${title}`);
  return children;
}

/** Starts Graticule on these sources, pinned to a core; its log goes to a file, as in production to a pipe. */
export async function startGraticule(
  sources: readonly string[],
  options: { port: number; cores: string; env?: Record<string, string>; files?: number; dataDir?: string },
): Promise<GraticuleServer> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'graticule-bench-'));
  const log = openSync(join(dataDir, 'log'), 'w');
  const child = spawn(
    'taskset',
    [
      '-c',
      options.cores,
      'node',
      'dist/cli/main.js',
      'serve',
      ...sources,
      '--port',
      String(options.port),
      '--data-dir',
      dataDir,
    ],
    {
      stdio: ['ignore', log, log],
      env: { ...process.env, SVC_ADMIN_KEY: 'bench-bench-bench-bench', ...options.env },
    },
  );
  const origin = `http://127.0.0.1:${options.port}`;
  await answers(`${origin}/healthz/ready`, child).catch((error: unknown) => {
    child.kill('SIGTERM');
    throw error;
  });
  const pids = childrenTitled(child.pid!, 'graticule: gateway');
  return {
    origin,
    pid: pids[0]!,
    pids,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
      if (!options.dataDir) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Starts a plain Node script, pinned to a core. */
export async function startScript(
  script: string,
  args: readonly string[],
  options: { port: number; core: number },
): Promise<BenchServer> {
  const child = spawn(
    'taskset',
    ['-c', String(options.core), 'node', script, String(options.port), ...args],
    { stdio: 'inherit' },
  );
  const origin = `http://127.0.0.1:${options.port}`;
  await answers(`${origin}/`, child);
  return {
    origin,
    pid: child.pid!,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
