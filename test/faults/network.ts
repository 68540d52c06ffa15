import { type ChildProcess, execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** A host of the test's network: a network namespace with an address of its own. */
export interface Host {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
}

const PREFIX = 'grtf';
/** No host has it: what is sent there arrives nowhere, as in a cut cable. */
const NOWHERE = '02:00:00:00:de:ad';
const DEVICE = 'eth0';
/** Runs what its arguments say on a host of its own name. */
const AS_HOST = 'hostname "$0" && exec "$@"';
const TEST_HOST = 1;
const FIRST_HOST = 10;

/** Why networks cannot be made here; undefined where they can. */
export function whyNoNetwork(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const name = `${PREFIX}${process.pid}-try`;
  const { error, status, stderr } = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (error) return 'the program ip of iproute2 is missing';
  if (status !== 0) return `network namespaces cannot be made: ${stderr.trim()}`;
  run('ip', 'netns', 'del', name);
  return undefined;
}

/**
 * Hosts on one switch. The switch and all hosts are network namespaces; the machine itself gets one device, with an
 * address of a private network that it has not, and is left as it was before by `remove`, or by the next network when
 * the process of this one died.
 */
export class Network {
  readonly #id = `${PREFIX}${process.pid}`;
  readonly #switch = `${this.#id}-switch`;
  readonly #net = freeNet();
  readonly hosts: Host[] = [];

  constructor() {
    removeLeftovers();
    run('ip', 'netns', 'add', this.#switch);
    run('ip', '-n', this.#switch, 'link', 'add', 'bridge', 'type', 'bridge');
    run('ip', '-n', this.#switch, 'link', 'set', 'bridge', 'up');
    run('ip', 'link', 'add', this.#id, 'type', 'veth', 'peer', 'name', 'test', 'netns', this.#switch);
    this.#plug('test');
    run('ip', 'addr', 'add', `${this.#net}.${TEST_HOST}/24`, 'dev', this.#id);
    run('ip', 'link', 'set', this.#id, 'up');
  }

  /** Where the test itself is reached by its hosts. */
  get testAddress(): string {
    return `${this.#net}.${TEST_HOST}`;
  }

  /** An address that no host has for good. */
  get movingAddress(): string {
    return `${this.#net}.${TEST_HOST + 1}`;
  }

  /** All of the network, as `10.213.7.0/24`. */
  get range(): string {
    return `${this.#net}.0/24`;
  }

  add(name: string): Host {
    const namespace = `${this.#id}-${name}`;
    const host = { name, namespace, address: `${this.#net}.${FIRST_HOST + this.hosts.length}` };
    run('ip', 'netns', 'add', namespace);
    this.hosts.push(host);
    const port = ['type', 'veth', 'peer', 'name', name, 'netns', this.#switch];
    run('ip', '-n', namespace, 'link', 'add', DEVICE, ...port);
    this.#plug(name);
    run('ip', '-n', namespace, 'link', 'set', 'lo', 'up');
    run('ip', '-n', namespace, 'addr', 'add', `${host.address}/24`, 'dev', DEVICE);
    run('ip', '-n', namespace, 'link', 'set', DEVICE, 'up');
    return host;
  }

  #plug(port: string): void {
    run('ip', '-n', this.#switch, 'link', 'set', port, 'master', 'bridge', 'up');
  }

  /** Gives the moving address to a host, and to no other. */
  moveAddress(to: Host): void {
    for (const { namespace } of this.hosts)
      spawnSync('ip', ['-n', namespace, 'addr', 'del', `${this.movingAddress}/24`, 'dev', DEVICE]);
    run('ip', '-n', to.namespace, 'addr', 'add', `${this.movingAddress}/24`, 'dev', DEVICE);
    // As the gratuitous ARP does that who takes an address over sends.
    for (const { namespace } of this.hosts)
      run('ip', '-n', namespace, 'neigh', 'flush', 'to', this.movingAddress);
  }

  /** Loses all packets between a host and others, in both directions and without a word to anybody. */
  cut(host: Host, others: readonly Host[]): void {
    for (const [from, to] of waysBetween(host, others))
      for (const address of addressesOf(to))
        run('ip', ...neighbour(from, 'replace', address, 'lladdr', NOWHERE, 'nud', 'permanent'));
  }

  heal(host: Host, others: readonly Host[]): void {
    for (const [from, to] of waysBetween(host, others))
      for (const address of addressesOf(to)) spawnSync('ip', neighbour(from, 'del', address));
  }

  remove(): void {
    for (const { namespace } of this.hosts) run('ip', 'netns', 'del', namespace);
    spawnSync('ip', ['link', 'del', this.#id]);
    run('ip', 'netns', 'del', this.#switch);
  }
}

/**
 * Starts a program on a host. It ends with the test, however that ends; with `apart` it has process numbers of its own as
 * on another machine, and nothing that it started outlives it.
 */
export function spawnOn(
  host: Host,
  command: readonly string[],
  { apart = false, ...options }: SpawnOptions & { apart?: boolean } = {},
): ChildProcess {
  const alone = apart
    ? [
        'unshare',
        '--pid',
        '--uts',
        '--fork',
        '--kill-child=KILL',
        '--mount-proc',
        '/bin/sh',
        '-c',
        AS_HOST,
        host.name,
      ]
    : [];
  const all = ['netns', 'exec', host.namespace, 'setpriv', '--pdeathsig', 'KILL', ...alone, ...command];
  return spawn('ip', all, options);
}

function neighbour({ namespace }: Host, action: 'replace' | 'del', address: string, ...rest: string[]) {
  return ['-n', namespace, 'neigh', action, address, ...rest, 'dev', DEVICE];
}

function waysBetween(host: Host, others: readonly Host[]): [Host, Host][] {
  return others.flatMap((other): [Host, Host][] => [
    [host, other],
    [other, host],
  ]);
}

function addressesOf({ namespace }: Host): string[] {
  const lines = output('ip', '-n', namespace, '-o', '-4', 'addr', 'show', 'dev', DEVICE).split('\n');
  return lines.flatMap((line) => /inet ([\d.]+)/.exec(line)?.[1] ?? []);
}

/** The first three numbers of a network that this machine has no address of. */
function freeNet(): string {
  const present =
    output('ip', '-o', '-4', 'addr', 'show') + output('ip', '-4', 'route', 'show', 'table', 'all');
  for (let i = 0; i < 256; i++) {
    const net = `10.213.${(process.pid + i) % 256}`;
    if (!present.includes(`${net}.`)) return net;
  }
  throw new Error('all networks below 10.213.0.0/16 are taken');
}

/** What tests left whose processes died. */
function removeLeftovers(): void {
  const pattern = new RegExp(`^${PREFIX}(\\d+)-`);
  for (const line of output('ip', 'netns', 'list').split('\n')) {
    const [name = ''] = line.split(' ');
    const pid = pattern.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) spawnSync('ip', ['netns', 'del', name]);
  }
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function output(program: string, ...args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8' });
}
