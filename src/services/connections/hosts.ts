import { isIP } from 'node:net';
import { describeUnlisted } from '../../core/errors/unlisted-host.js';
import { Networks } from '../../core/kit/networks.js';

/** Why a database may not be connected to, without a full stop; undefined when it may. A name that is listed is followed wherever it leads. */
export function hostProblem(
  { host, port }: { host: string; port: number },
  allow: readonly string[],
): string | undefined {
  const plain = host.toLowerCase().replace(/\.$/, '');
  const ports = allow.flatMap((entry) => parsePort(entry.trim().toLowerCase(), plain) ?? []);
  if (ports.some((at) => at === ANY || Number(at) === port)) return undefined;
  return describeUnlisted('connections.allow', { host, port }, ports);
}

/** Represents all ports. */
const ANY = '*';

/** The port with which an entry has a host; undefined if it does not have it. */
function parsePort(entry: string, host: string): string | undefined {
  if (entry === '*') return ANY;
  if (Networks.isEntry(entry)) return isIP(host) !== 0 && new Networks([entry]).has(host) ? ANY : undefined;
  const [, bracketed, plain, at = ANY] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? entry;
  return hasHost(name, host) ? at : undefined;
}

function hasHost(name: string, host: string): boolean {
  if (Networks.isEntry(name)) return isIP(host) !== 0 && new Networks([name]).has(host);
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}
