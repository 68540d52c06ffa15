import { posix } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectSoundPage } from '../../pages/structure.js';
import { inOrder, type Manual, pagePath, readManual, renderMarkdown, renderPage } from '../manual.js';

let manual: Manual;
/** HTML of all pages, by their paths. */
let site: Map<string, string>;

beforeAll(async () => {
  manual = await readManual('docs');
  const order = inOrder(manual.tree);
  site = new Map(
    [...manual.pages.values()].map((page) => [
      pagePath(page.source),
      renderPage(page, { tree: manual.tree, order }),
    ]),
  );
});

const ASSETS = ['site.css', 'manual.css', 'manual.js', 'mark.svg'].map((name) => `assets/${name}`);

describe('the manual', () => {
  it('has every Markdown file, each in the table of contents', () => {
    expect(site.size).toBeGreaterThan(100);
    expect(inOrder(manual.tree)).toHaveLength(site.size);
  });

  it('has no dead link, and no link to a place that a page does not have', () => {
    expect(manual.problems).toEqual([]);
  });

  it('is of sound pages that load from their own folder by relative paths only', () => {
    const files = new Set([...site.keys(), ...manual.images, ...ASSETS]);
    const missing: string[] = [];
    for (const [path, html] of site) {
      expectSoundPage(html);
      // A policy without inline styles would do for them.
      expect(/<style|\sstyle="/.test(html), path).toBe(false);
      for (const [, name, target] of html.matchAll(/\s(href|src)="([^"]*)"/g)) {
        if (/^https?:/.test(target!) && name === 'href') continue;
        const [file] = target!.split('#');
        const found = posix.normalize(posix.join(posix.dirname(path), file!));
        // The server, or the site that the manual is a part of.
        if (file === '' || found === '../') continue;
        if (!files.has(found)) missing.push(`${path}: ${target}`);
      }
    }
    expect(missing).toEqual([]);
  });

  it.each([
    ['reference/server/settings.md', 'server.port'],
    ['reference/server/logs.md', '1001'],
    ['reference/server/logs.md', 'http.request.failed'],
    ['reference/server/metrics.md', 'svc_request_error_total'],
    ['reference/server/errors.md', 'invalid-parameter'],
    ['reference/server/errors.md', 'client_certificate_missing'],
    ['reference/server/command-line.md', 'state-backup'],
  ])('can be linked to: %s#%s', (source, id) => {
    expect(manual.pages.get(source)?.ids).toContain(id);
    expect(site.get(pagePath(source))).toContain(` id="${id}"`);
  });
});

describe('a page of the manual', () => {
  const files = new Set(['a/b.md', 'a/README.md', 'c.md', 'README.md', 'a/look.png']);
  const render = (text: string) => renderMarkdown('a/b.md', text, (name) => files.has(name));

  it.each([
    ['[x](README.md)', '<a href="index.html">x</a>'],
    ['[x](../c.md#part)', '<a href="../c.html#part">x</a>'],
    ['[x](../README.md)', '<a href="../index.html">x</a>'],
    ['[x](.)', '<a href="index.html">x</a>'],
    ['[x](#here)', '<a href="b.html#here">x</a>'],
    ['[x](https://example.org/a.md)', '<a href="https://example.org/a.md">x</a>'],
    ['![x](look.png)', '<img src="look.png" alt="x" loading="lazy">'],
    // What is outside of docs/ is named without a link.
    ['[`x`](../../src/x.ts)', '<p><code>x</code></p>'],
    ['[x](../../CONTRIBUTING.md)', '<p>x</p>'],
  ])('writes %s as %s', (text, html) => {
    const page = render(text);
    expect(page.html).toContain(html);
    expect(page.problems).toEqual([]);
  });

  it.each(['[x](d.md)', '[x](../d/README.md)', '![x](d.png)'])('reports the dead link %s', (text) => {
    expect(render(text).problems).toHaveLength(1);
  });

  it('shows HTML as text, and runs no link with a scheme of scripts', () => {
    const { html } = render('<script>alert(1)</script>\n\n[x](javascript:alert(1)) <b onclick="x">y</b>');
    expect(html).not.toMatch(/<script|<b |href="javascript/);
    expect(html).toContain('&lt;script&gt;');
  });

  it('has ids as GitHub makes them', () => {
    const { ids } = render(
      '# A page: of `code`, "x"\n\n## Überblick\n\n## Twice\n\n## Twice\n\n## a_b-c (d)',
    );
    expect([...ids]).toEqual(['a-page-of-code-x', 'überblick', 'twice', 'twice-1', 'a_b-c-d']);
  });

  it('has ids of rows that begin with one name in code or a number', () => {
    const { html } = render(
      '| a | b | c |\n|---|---|---|\n| `x.y` | text | `no` |\n| 1001 | `x.z` | d |\n| `two` words | `w` | d |\n| 12 | `v` | d |',
    );
    expect([...html.matchAll(/<(\w+) id="([^"]*)"/g)].map(([, tag, id]) => `${tag} ${id}`)).toEqual([
      'tr x.y',
      'tr 1001',
      'td x.z',
    ]);
  });

  it('does not show its front matter', () => {
    expect(render('---\nkeywords: backup, restore\n---\n# Title\n').html).toBe('<h1 id="title">Title</h1>\n');
  });
});
