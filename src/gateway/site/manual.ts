import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import Type from 'typebox';
import { notFound } from '../../core/errors/errors.js';
import { defineOperation, type Exchange, type Operation, type Reply } from '../../core/http/operation.js';
import { defineTextParam, pathString } from '../../core/http/params.js';
import { pageHeaders } from '../pages/security.js';
import { readForms } from './assets.js';
import { createStaticReply, type Forms, groupForms } from './static-files.js';

const SITE = { method: 'GET', surface: 'site', protocol: 'Site', permission: 'public' } as const;

/** Folders and names below `/manual`, outermost first. */
const PARTS = [
  pathString(
    'part',
    'Part of the manual: tutorials, how-to, reference, explanation, contributing, decisions.',
  ),
  pathString('section', 'Section of the part, or a page.'),
  pathString('page', 'Page of the section.'),
] as const;

const q = defineTextParam(
  'q',
  { description: 'Words that the page searches for when it opens.' },
  { maxLength: 256 },
);

/** Sections of the page of errors by the last part of a problem type. */
const PROBLEMS: Readonly<Record<string, string>> = {
  admin: '',
  security: '#unauthenticated',
  validation: '#invalid-parameter',
};

/** Redirects the type URIs of problem documents to the manual. Clients need it if `server.vendor` is this host. */
export function problemTypeOperation(): Operation {
  return defineOperation({
    ...SITE,
    id: 'site.problemType',
    path: '/problems/{type}',
    summary: 'Page about a type of errors',
    params: { type: pathString('type', 'Last part of the type of a problem document.') },
    responses: {
      303: { description: 'The manual has the page.' },
      404: { description: 'No problem document has this type.' },
    },
    run: ({ params }) => {
      const hash = Object.hasOwn(PROBLEMS, params.type) ? PROBLEMS[params.type] : undefined;
      if (hash === undefined) throw notFound('problem type', params.type);
      return { status: 303, headers: { location: `../manual/reference/server/errors${hash}` } };
    },
  });
}

/** The manual, which the build makes of docs/, below `/manual`: one operation for each depth of its folders. */
export function manualOperations(directory: string): Operation[] {
  const manual = new Manual(directory);
  return [0, 1, 2, 3].map((depth) => {
    const params = Object.fromEntries(PARTS.slice(0, depth).map((param) => [param.name, param]));
    return defineOperation({
      ...SITE,
      id: `site.manual${['', 'Part', 'Section', 'Page'][depth]}`,
      path: ['/manual', ...Object.keys(params).map((name) => `{${name}}`)].join('/'),
      summary: depth === 0 ? 'Manual' : 'Page or file of the manual',
      params: { ...params, q },
      responses: {
        200: { description: 'The page or file.', content: { 'text/html': Type.String() } },
        308: { description: 'Folders are at the path that ends with a slash.' },
        404: { description: 'The manual has no such page.' },
      },
      run: (x: Exchange) =>
        manual.reply(
          x.path,
          Object.keys(params).map((name) => String((x.params as Record<string, unknown>)[name])),
        ),
    });
  });
}

/**
 * Files of the manual, listed at the start, each read at its first request. A request only selects a file from this
 * list.
 */
class Manual {
  readonly #files: ReadonlyMap<string, Forms<string>>;
  readonly #replies = new Map<string, Reply>();

  constructor(directory: string) {
    const names = readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(relative(directory, entry.parentPath ?? entry.path), entry.name));
    this.#files = groupForms(directory, names);
  }

  /** A page is found with and without `.html`; its links are relative, so a folder needs the slash at its end. */
  reply(path: string, parts: readonly string[]): Reply {
    const name = parts.join('/');
    const index = name === '' ? 'index.html' : `${name}/index.html`;
    if (parts.some((part) => part.includes('/'))) throw notFound('manual page', name);
    if (path.endsWith('/')) return this.#find(index, name);
    // A relative address is right behind every proxy.
    if (this.#files.has(index))
      return { status: 308, headers: { location: `${encodeURIComponent(parts.at(-1) ?? 'manual')}/` } };
    return this.#find(this.#files.has(name) ? name : `${name}.html`, name);
  }

  #find(file: string, name: string): Reply {
    const paths = this.#files.get(file);
    if (!paths) throw notFound('manual page', name);
    let reply = this.#replies.get(file);
    if (!reply) {
      const headers = file.endsWith('.html') ? pageHeaders() : undefined;
      reply = createStaticReply(file, readForms(paths), headers);
      this.#replies.set(file, reply);
    }
    return reply;
  }
}
