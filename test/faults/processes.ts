import { readFileSync } from 'node:fs';

/** The process that a launcher (`unshare`) started in its place. */
export function childOf(pid: number): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ');
  if (!child) throw new Error(`process ${pid} has no child`);
  return Number(child);
}
