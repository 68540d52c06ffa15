import { plainText } from '../../../core/values/percent.js';
import type { Crumb } from '../layout.js';

const ROOT = '/rest/services';

/** The path from the list of services to a resource of GeoServices, as links. Folders have no page here. */
export function directoryCrumbs(baseUrl: string, path: string): Crumb[] {
  const crumbs: Crumb[] = [{ title: 'Services', href: `${baseUrl}${ROOT}` }];
  if (!path.startsWith(`${ROOT}/`)) return crumbs;
  const segments = path
    .slice(ROOT.length + 1)
    .split('/')
    .filter(Boolean);
  const server = segments.findIndex((segment) => /^[A-Z]\w*Server$/.test(segment));
  if (server < 0) return crumbs;
  const href = (end: number) => `${baseUrl}${ROOT}/${segments.slice(0, end).join('/')}`;
  const name = segments.slice(0, server).map(plainText).join('/');
  const type = segments[server]!;
  crumbs.push({ title: name === '' ? type : `${name} (${type})`, href: href(server + 1) });
  for (let end = server + 2; end <= segments.length; end++)
    crumbs.push({ title: plainText(segments[end - 1]!), href: href(end) });
  return crumbs;
}
