import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { TaskFailure } from '../../core/failure.js';
import { Networks } from '../../core/networks.js';

/** Addresses that are not the public internet (IANA special-purpose registries). */
const SPECIAL = new Networks([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]);

/**
 * Which hosts may be asked. Entries are host names, `*.example.org` for all names below, and addresses or networks
 * (`10.0.0.0/8`), each perhaps with a port. Addresses that are not public must be listed themselves, whatever name
 * leads there.
 */
export class AllowedHosts {
  readonly #names: { name: string; port: string | undefined }[] = [];
  readonly #listed = new Networks();

  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(entry.trim().toLowerCase());
  }

  #add(entry: string): void {
    const [, bracketed, plain, port] =
      /^(?:\[([^\]]+)\]|([^:]+|[0-9a-f:]+:[0-9a-f:/]*))(?::(\d+))?$/.exec(entry) ?? [];
    const host = bracketed ?? plain ?? entry;
    if (Networks.isEntry(host)) this.#listed.add(host);
    else this.#names.push({ name: host, port });
  }

  /** Throws `source-unreadable` for a URL that may not be asked. */
  check(url: URL): void {
    const problem = this.problemOf(url);
    if (problem !== undefined) throw refused(problem);
  }

  /** Why nothing may be sent there; undefined when it may: over HTTPS to any public host, else to those of the list. */
  problemOfReceiver(url: URL): string | undefined {
    const host = hostOf(url);
    const open = url.protocol === 'https:' && url.username === '' && url.password === '';
    return open && (isIP(host) === 0 || this.#mayConnect(host)) ? undefined : this.problemOf(url);
  }

  /** Why a URL may not be asked; undefined when it may. */
  problemOf(url: URL): string | undefined {
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return `${url.protocol} is not spoken`;
    if (url.username !== '' || url.password !== '') return 'a URL must hold no credentials';
    const host = hostOf(url);
    const listed =
      isIP(host) === 0 ? this.#names.some((entry) => matches(entry, host, url.port)) : this.#listed.has(host);
    return listed ? undefined : `${host} is not in remote.allow`;
  }

  /** Resolves a name that `check` let pass, to addresses that may be connected to: those that are used, no others. */
  readonly lookup: LookupFunction = (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return done(error, '');
      const usable = addresses.filter(({ address }) => this.#mayConnect(address));
      if (usable.length === 0) return done(refused(`${hostname} leads to an address that is not public`), '');
      if ((options as { all?: boolean }).all)
        (done as unknown as (e: null, all: typeof usable) => void)(null, usable);
      else done(null, usable[0]!.address, usable[0]!.family);
    });
  };

  #mayConnect(address: string): boolean {
    return this.#listed.has(address) || !SPECIAL.has(address);
  }
}

const hostOf = (url: URL) => url.hostname.replace(/^\[|\]$/g, '').toLowerCase();

function matches(
  { name, port }: { name: string; port: string | undefined },
  host: string,
  at: string,
): boolean {
  if (port !== undefined && port !== at) return false;
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}

export function refused(what: string): TaskFailure {
  return new TaskFailure('source-unreadable', `The remote source cannot be read: ${what}.`);
}
