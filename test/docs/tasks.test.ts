import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, Reader } from './reader.js';

/**
 * Tutorials and how-to guides whose first block starts a server, run block by block: `sh` in its order, `sh background` beside the others, `python`
 * in QGIS, blocks with the name of a file saved under it, `html` opened in a browser, `nginx` started. Of the `text` block
 * behind a block every line must be in what it wrote. `./run demo` and `./run serve` start the server.
 */

const PAGES = ['docs/tutorials', 'docs/how-to']
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter(
    (path) => path.endsWith('.md') && /^```sh\n\.\/run (?:demo|serve)/m.test(readFileSync(path, 'utf8')),
  );

describe.each(PAGES)('%s', (path) => {
  const page = readFileSync(path, 'utf8');

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
