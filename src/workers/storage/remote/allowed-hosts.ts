import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { TaskFailure } from '../../../core/errors/failure.js';
import { describeUnlisted } from '../../../core/errors/unlisted-host.js';
import { Networks } from '../../../core/kit/networks.js';

/** Addresses that are not the public internet (IANA special-purpose registries). */
const SPECIAL = [
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
];
let special: Networks | undefined;

/** Whether an address is not of the public internet. The set is made for the first address, because each thread loads this module. */
function isSpecial(address: string): boolean {
  return (special ??= new Networks(SPECIAL)).has(address);
}

/** Entry of the list. Default of the ports: all. */
interface AllowedName {
  readonly name: string;
  readonly port: string | undefined;
}

interface AllowedNetwork {
  readonly networks: Networks;
  readonly port: string | undefined;
}

/**
 * Hosts to which requests are allowed. Entries are host names, `*.example.org` for all names below, and addresses or
 * networks (`10.0.0.0/8`, `[fd00::]/8`), each with or without a port. Addresses that are not public must be listed
 * themselves, whichever name leads to them.
 */
export class AllowedHosts {
  readonly #names: AllowedName[] = [];
  readonly #networks: AllowedNetwork[] = [];

  constructor(entries: readonly string[]) {
    for (const entry of entries) this.#add(entry.trim().toLowerCase());
  }

  #add(entry: string): void {
    const { host, port } = parseParts(entry);
    if (Networks.isEntry(host)) this.#networks.push({ networks: new Networks([host]), port });
    else this.#names.push({ name: host, port });
  }

  /** Throws `source-unreadable` for a URL to which requests are not allowed. */
  check(url: URL): void {
    const problem = this.problemOf(url);
    if (problem !== undefined) throw refused(problem);
  }

  /**
   * Returns the reason why data must not be sent to a URL. Undefined if it may: over HTTPS to any public host,
   * otherwise to listed hosts.
   */
  problemOfReceiver(url: URL): string | undefined {
    const host = formatHost(url);
    const open = url.protocol === 'https:' && url.username === '' && url.password === '';
    return open && (isIP(host) === 0 || !isSpecial(host)) ? undefined : this.problemOf(url);
  }

  /** Returns the reason why requests to a URL are not allowed. Undefined if they are. */
  problemOf(url: URL): string | undefined {
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      return `the protocol '${url.protocol}' is not supported; use https or http`;
    if (url.username !== '' || url.password !== '') return 'a URL must not contain credentials';
    const host = formatHost(url);
    const port = choosePort(url);
    const entries = this.#entriesOf(host);
    if (entries.some((entry) => fits(entry, port))) return undefined;
    return describeUnlisted(
      'remote.allow',
      { host, port },
      entries.flatMap((entry) => entry.port ?? []),
    );
  }

  /**
   * Resolves the host of a URL that `check` accepted, only to addresses to which connections on its port are allowed.
   */
  lookupOf(url: URL): LookupFunction {
    const port = choosePort(url);
    return (hostname, options, done) => {
      lookup(hostname, { ...options, all: true }, (error, addresses) => {
        if (error) return done(error, '');
        const usable = addresses.filter(({ address }) => this.#mayConnect(address, port));
        if (usable.length === 0)
          return done(refused(`${hostname} resolves to an IP address that is not public`), '');
        if ((options as { all?: boolean }).all)
          (done as unknown as (e: null, all: typeof usable) => void)(null, usable);
        else done(null, usable[0]!.address, usable[0]!.family);
      });
    };
  }

  #mayConnect(address: string, port: string): boolean {
    return !isSpecial(address) || this.#isListed(address, port);
  }

  #isListed(address: string, port: string): boolean {
    return this.#entriesOf(address).some((entry) => fits(entry, port));
  }

  /** Returns the entries for a name or an address, with any port. */
  #entriesOf(host: string): readonly { port: string | undefined }[] {
    if (isIP(host) === 0) return this.#names.filter((entry) => matches(entry, host));
    return this.#networks.filter(({ networks }) => networks.has(host));
  }
}

/** `[::1]:9000`, `[fd00::]/8:9000`, `10.0.0.0/8:8080`, `example.org:443`, or the same without a port; also `fd00::/8`. */
function parseParts(entry: string): { host: string; port: string | undefined } {
  const [, address, bits = '', ofAddress] = /^\[([^\]]+)\](\/\d+)?(?::(\d+))?$/.exec(entry) ?? [];
  if (address !== undefined) return { host: address + bits, port: ofAddress };
  const [, host = entry, port] = /^([^:]+)(?::(\d+))?$/.exec(entry) ?? [];
  return { host, port };
}

/** A URL does not name the port that its scheme has by default. */
const choosePort = ({ port, protocol }: URL) => port || (protocol === 'https:' ? '443' : '80');

const fits = ({ port }: { port: string | undefined }, at: string) => port === undefined || port === at;

const formatHost = (url: URL) => url.hostname.replace(/^\[|\]$/g, '').toLowerCase();

function matches({ name }: AllowedName, host: string): boolean {
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
}

export function refused(what: string): TaskFailure {
  return new TaskFailure('source-unreadable', `The remote source cannot be read: ${what}.`);
}
