import { isIP } from 'node:net';
import { Networks } from '../../core/networks.js';

/** Why a database may not be connected to; undefined when it may. A name that is listed is followed wherever it leads. */
export function hostProblem(
  { host, port }: { host: string; port: number },
  allow: readonly string[],
): string | undefined {
  const plain = host.toLowerCase().replace(/\.$/, '');
  return allow.some((entry) => matches(entry.trim().toLowerCase(), plain, port))
    ? undefined
    : `The host ${host}:${port} is not in connections.allow.`;
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true;
  if (Networks.isEntry(entry)) return isIP(host) !== 0 && new Networks([entry]).has(host);
  const [, bracketed, plain, at] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  if (at !== undefined && Number(at) !== port) return false;
  const name = bracketed ?? plain ?? entry;
  if (Networks.isEntry(name)) return isIP(host) !== 0 && new Networks([name]).has(host);
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}
