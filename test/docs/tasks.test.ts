import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, Reader } from './reader.js';

/**
 * Tutorials and how-to guides, run block by block: `sh` in its order, `sh background` in parallel, `sh stop` after the server
 * has stopped, `python` in QGIS, blocks with the name of a file saved under it, `html` opened in a browser, `nginx` started.
 * Each line of a `text` block must be in the output of the block before it. `./run demo` and `./run serve` start the server.
 * `console` blocks and blocks without a file name are examples, and do not run.
 */

/** Pages that need another machine or party, or have a test elsewhere. New pages are followed. */
const NOT_FOLLOWED = new Map([
  ['docs/how-to/install/install.md', 'installs Debian packages'],
  ['docs/how-to/install/upgrade.md', 'needs two releases'],
  ['docs/how-to/install/deploy.md', 'test/docs/deployment.test.ts and test/deploy'],
  ['docs/how-to/operate/scaling.md', 'test/docs/scaling.test.ts'],
  ['docs/how-to/operate/troubleshooting.md', 'is a table of symptoms'],
  ['docs/how-to/access/client-certificates.md', 'test/access/identity/client-certificates.test.ts'],
  ['docs/how-to/data/stac-imagery.md', 'needs a public STAC API'],
]);

const GUIDES = ['docs/tutorials', 'docs/how-to']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((path) => path.endsWith('.md') && !path.endsWith('README.md'));
const PAGES = GUIDES.filter((path) => !NOT_FOLLOWED.has(path));

it('names only guides that are there as not followed, and none of them has blocks that look followed', () => {
  for (const path of NOT_FOLLOWED.keys()) {
    expect(GUIDES).toContain(path);
    if (path.endsWith('/scaling.md')) continue;
    expect(blocksOf(readFileSync(path, 'utf8')).filter(({ language }) => language === 'sh')).toEqual([]);
  }
});

describe.each(PAGES)('%s', (path) => {
  const page = readFileSync(path, 'utf8');

  it('starts a server', () => {
    expect(page).toMatch(/^```sh\n\.\/run (?:demo|serve)/m);
  });

  it('says what works', async () => {
    const blocks = blocksOf(page);
    expect(blocks.filter(({ output }) => output.length > 0)).not.toEqual([]);
    const reader = new Reader();
    try {
      for (const block of blocks) await reader.follow(block);
    } finally {
      await reader.end();
    }
  });

  it('leads to pages that are there', () => {
    for (const [, target] of page.matchAll(/\]\(([^)#]+\.md)[^)]*\)/g))
      expect(() => readFileSync(join(dirname(path), target!))).not.toThrow();
  });
});
