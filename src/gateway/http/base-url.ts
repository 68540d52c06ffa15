export interface BaseUrlOptions {
  /** Set by `--public-url`: links always start with it. */
  publicUrl: string | undefined;
  /** Believe X-Forwarded-* and Forwarded headers. */
  trustProxy: boolean;
  /** Used when a request has no Host header. */
  fallbackHost: string;
}

const HOST = /^[\w.-]+(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/i;
const PREFIX = /^(\/[\w.~-]+)*\/?$/;

/** Origin (and prefix) of links in answers: configured, else forwarded, else the Host header. No trailing slash. */
export function publicBaseUrl(
  options: BaseUrlOptions,
): (header: (name: string) => string | undefined) => string {
  if (options.publicUrl) {
    const fixed = options.publicUrl.replace(/\/+$/, '');
    return () => fixed;
  }
  return (header) => {
    const host = clean(header('host')) ?? options.fallbackHost;
    if (!options.trustProxy) return `http://${host}`;
    const proto = header('x-forwarded-proto');
    if (!proto && !header('x-forwarded-host')) return `http://${host}`;
    const scheme = first(proto) === 'https' ? 'https' : 'http';
    const forwardedHost = clean(first(header('x-forwarded-host'))) ?? host;
    const prefix = first(header('x-forwarded-prefix')) ?? '';
    return `${scheme}://${forwardedHost}${PREFIX.test(prefix) ? prefix.replace(/\/+$/, '') : ''}`;
  };
}

function first(value: string | undefined): string | undefined {
  return value?.split(',')[0]?.trim();
}

/** A host name is echoed in links: anything but a plain one is ignored. */
function clean(host: string | undefined): string | undefined {
  return host && host.length < 256 && HOST.test(host) ? host : undefined;
}
