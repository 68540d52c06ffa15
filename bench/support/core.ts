import { execFileSync } from 'node:child_process';

/** Ties a process, this one when none is named, all its threads and what it starts later to one core. */
export function pin(core: number, pid: number = process.pid): void {
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(pid)], { stdio: 'ignore' });
}

export interface Cost {
  wallMs: number;
  /** CPU of the whole process: what other processes of the machine do is not in it. */
  cpuMs: number;
}

/** What one call of `work` costs, the mean of `times` calls. */
export function cost(times: number, work: () => void): Cost {
  const cpu = process.cpuUsage();
  const begin = process.hrtime.bigint();
  for (let i = 0; i < times; i++) work();
  const wallMs = Number(process.hrtime.bigint() - begin) / 1e6 / times;
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs, cpuMs: (user + system) / 1e3 / times };
}
