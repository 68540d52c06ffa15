/** Says that a list of allowed hosts lacks an address. `ports`: ports of this host that the list allows. */
export function describeUnlisted(
  setting: string,
  { host, port }: { host: string; port: string | number },
  ports: Iterable<string>,
): string {
  const name = host.includes(':') ? `[${host}]` : host;
  const listed = [...new Set(ports)].join(', ');
  return `${name}:${port} is not in ${setting}${listed === '' ? '' : `, which has this host with port ${listed} only`}`;
}
