import { BlockList, isIP } from 'node:net';

/** A set of IP addresses and networks (`10.0.0.0/8`, `fd00::/8`, `192.0.2.7`). */
export class Networks {
  readonly #list = new BlockList();

  /** Throws a `RangeError` for an entry that is neither an address nor a network. */
  constructor(entries: Iterable<string> = []) {
    for (const entry of entries) this.add(entry);
  }

  static isEntry(entry: string): boolean {
    return subnet(entry) !== undefined;
  }

  add(entry: string): void {
    const parts = subnet(entry);
    if (!parts) throw new RangeError(`${entry} is neither an IP address nor a network`);
    this.#list.addSubnet(parts.address, parts.bits, chooseFamily(parts.address));
  }

  /** Whether an address is in the set. An IPv4 address that IPv6 maps counts as itself. */
  has(address: string): boolean {
    const plain = unmapped(address);
    return isIP(plain) !== 0 && this.#list.check(plain, chooseFamily(plain));
  }
}

function subnet(entry: string): { address: string; bits: number } | undefined {
  const [, address = '', prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry.trim()) ?? [];
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
  const bits = Number(prefix ?? most);
  return most >= 0 && bits <= most ? { address, bits } : undefined;
}

/** IPv4 address in `::ffff:192.0.2.7`; other addresses are returned unchanged. */
export function unmapped(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}

const chooseFamily = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** The address, or the network of 64 bits that an IPv6 client has to itself. */
export function computeClientNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - last.length;
  return [...groups, ...Array<string>(Math.max(0, zeros)).fill('0'), ...last].slice(0, 4).join(':');
}
