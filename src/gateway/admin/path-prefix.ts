import type { Operation, Reply } from '../../core/http/operation.js';
import { BASE_PATH } from './base-path.js';

/** The path that a proxy puts in front of those of this server, without a trailing slash; empty where there is none. */
export const pathPrefix = (baseUrl: string): string => new URL(baseUrl).pathname.replace(/\/+$/, '');

/** Members of documents that are links: `href`, `statusUrl`, `DownloadUrl`. A quote within a text has a backslash in front. */
const LINKS = new RegExp(`("(?:href|\\w+Url)":\\s*")(?=${BASE_PATH}/)`, 'g');
const LINK_HEADER = new RegExp(`^<(?=${BASE_PATH}/)`);

/** Returns an operation whose links start with the prefix of the proxy in front of the server. */
export function prefixLinks(run: Operation['run']): Operation['run'] {
  return (x) => {
    const prefix = pathPrefix(x.baseUrl);
    const reply = run(x);
    if (prefix === '') return reply;
    return reply instanceof Promise
      ? reply.then((one) => prefixReply(one, prefix))
      : prefixReply(reply, prefix);
  };
}

function prefixReply(reply: Reply, prefix: string): Reply {
  const { body, mediaType, headers = {} } = reply;
  const { location, link } = headers;
  const isJson = typeof body === 'string' && /\bjson$/.test(mediaType ?? '');
  return {
    ...reply,
    ...(isJson ? { body: body.replace(LINKS, (start) => start + prefix) } : {}),
    headers: {
      ...headers,
      ...(typeof location === 'string' && location.startsWith(`${BASE_PATH}/`)
        ? { location: prefix + location }
        : {}),
      ...(typeof link === 'string' ? { link: link.replace(LINK_HEADER, `<${prefix}`) } : {}),
    },
  };
}
