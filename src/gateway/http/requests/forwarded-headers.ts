import { isIP, SocketAddress } from 'node:net';
import { Networks, unmapped } from '../../../core/kit/networks.js';

export interface ForwardingOptions {
  /** Set by `--public-url`: links always start with it. */
  publicUrl: string | undefined;
  /** Addresses and networks of proxies whose X-Forwarded-* headers count. */
  trustProxy: readonly string[];
  /** Used when a request has no Host header. */
  fallbackHost: string;
  /** Whether the server itself speaks TLS. */
  isSecure?: boolean;
  /** Response header for the tags of a CDN. Default: none. */
  tagHeader?: string;
}

type Header = (name: string) => string | undefined;

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/i;
const PREFIX = /^(\/[\w.~-]+)*\/?$/;
const VARY = 'accept';

/**
 * Public URL of the server and address of the client, according to trusted proxies. The X-Forwarded-* headers of
 * other peers are ignored.
 */
export class ForwardedHeaders {
  /** Vary header of responses with one coding: request headers that responses can depend on. */
  readonly vary: string;
  /** Response header for the tags of a CDN; empty: none. */
  readonly tagHeader: string;
  readonly #fixed: string | undefined;
  readonly #scheme: string;
  readonly #fallbackHost: string;
  readonly #proxies: Networks | undefined;

  /** Throws a `RangeError` for an entry of `trustProxy` that is neither an address nor a network. */
  constructor({ publicUrl, trustProxy, fallbackHost, tagHeader = '', isSecure = false }: ForwardingOptions) {
    this.#scheme = isSecure ? 'https' : 'http';
    this.tagHeader = tagHeader;
    this.#fixed = publicUrl?.replace(/\/+$/, '');
    this.#fallbackHost = fallbackHost;
    this.#proxies = trustProxy.length > 0 ? new Networks(trustProxy) : undefined;
    const varies = this.#proxies && this.#fixed === undefined;
    this.vary = varies ? `${VARY}, x-forwarded-proto, x-forwarded-host, x-forwarded-prefix` : VARY;
  }

  /** Whether responses depend on the address of the peer, which is readable only while the connection is open. */
  get asksForPeer(): boolean {
    return this.#proxies !== undefined;
  }

  /** Whether this peer is a trusted proxy. */
  isProxy(peer: string): boolean {
    return this.#proxies?.has(peer) ?? false;
  }

  /**
   * Origin and prefix of links in responses: configured, else forwarded, else from the Host header. Without a
   * trailing slash.
   */
  baseUrl(header: Header, peer: string): string {
    if (this.#fixed !== undefined) return this.#fixed;
    const host = hostName(header('host')) ?? this.#fallbackHost;
    if (!this.#proxies?.has(peer)) return `${this.#scheme}://${host}`;
    const proto = header('x-forwarded-proto');
    // Each header applies independently.
    const scheme = proto ? (first(proto) === 'https' ? 'https' : 'http') : this.#scheme;
    const forwardedHost = hostName(first(header('x-forwarded-host'))) ?? host;
    const prefix = first(header('x-forwarded-prefix')) ?? '';
    return `${scheme}://${forwardedHost}${PREFIX.test(prefix) ? prefix.replace(/\/+$/, '') : ''}`;
  }

  /**
   * Address of the client: the peer's, or behind trusted proxies the last address in X-Forwarded-For that is not
   * one of theirs.
   */
  clientAddress(header: Header, peer: string): string {
    if (!this.#proxies?.has(peer)) return peer;
    let client = peer;
    for (const hop of (header('x-forwarded-for') ?? '').split(',').reverse()) {
      const address = hopAddress(hop);
      if (address === undefined) break;
      client = address;
      if (!this.#proxies.has(address)) break;
    }
    return client;
  }
}

/** Address of a peer as returned by the HTTP library: 4 or 16 bytes; empty for a closed connection. */
export function peerAddress(bytes: ArrayBuffer): string {
  const octets = new Uint8Array(bytes);
  if (octets.length === 4) return octets.join('.');
  if (octets.length !== 16) return '';
  const groups = Array.from({ length: 8 }, (_, i) =>
    (octets[2 * i]! * 256 + octets[2 * i + 1]!).toString(16),
  );
  return unmapped(new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address);
}

/** `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::7`, `[2001:db8::7]:4711`; undefined for anything else. */
function hopAddress(hop: string): string | undefined {
  const text = hop.trim();
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : unmapped(address);
}

function first(value: string | undefined): string | undefined {
  return value?.split(',')[0]?.trim();
}

/** A host name is echoed in links: anything but a plain one is ignored. */
/** Host of a request with its port; undefined if it is invalid. */
export function hostName(host: string | undefined): string | undefined {
  return host && host.length < 256 && HOST.test(host) ? host : undefined;
}
