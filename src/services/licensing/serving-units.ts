import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';

export interface CpuSources {
  /** Reads a file of the kernel. Throws if it does not exist. */
  read(path: string): string;
  /** CPUs of the affinity mask. */
  cpus(): number;
}

const HOST: CpuSources = { read: (path) => readFileSync(path, 'utf8'), cpus: availableParallelism };
const ROOT = '/sys/fs/cgroup';

/**
 * CPUs that the processes of this server can use: those of the affinity mask, limited by the quotas of the control group
 * and of its parents. A quota can be a fraction of a CPU.
 */
export function measureServingUnits({ read, cpus }: CpuSources = HOST): number {
  const quotas = [...readQuotas(read)];
  return Math.round(Math.min(cpus(), ...quotas) * 100) / 100;
}

function* readQuotas(read: CpuSources['read']): Generator<number> {
  for (const line of lines(read, '/proc/self/cgroup')) {
    const [, controllers = '', path = ''] = line.split(':');
    const isVersion2 = controllers === '';
    if (!isVersion2 && !controllers.split(',').includes('cpu')) continue;
    const base = isVersion2 ? ROOT : join(ROOT, controllers);
    // In a container, the path can be outside of the mounted tree. The root of the mount is then the group itself.
    for (let group = path; ; group = dirname(group)) {
      const quota = readQuota(read, join(base, group), isVersion2);
      if (quota !== undefined) yield quota;
      if (group === '/' || group === '.' || group === '') break;
    }
  }
}

function readQuota(read: CpuSources['read'], group: string, isVersion2: boolean): number | undefined {
  const [quota, period] = isVersion2
    ? (lines(read, join(group, 'cpu.max'))[0] ?? '').split(' ').map(Number)
    : ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((file) => Number(lines(read, join(group, file))[0]));
  return quota! > 0 && period! > 0 ? quota! / period! : undefined;
}

function lines(read: CpuSources['read'], path: string): string[] {
  try {
    return read(path).trim().split('\n');
  } catch {
    return [];
  }
}
