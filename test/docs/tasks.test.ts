import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, Reader } from './reader.js';

/**
 * The pages of docs/tasks, done as they say, block by block: `sh` in its order, `sh background` beside the others, `python`
 * in QGIS, blocks with the name of a file saved under it, `html` opened in a browser, `nginx` started. Of the `text` block
 * behind a block every line must be in what it wrote. `./run demo` and `./run serve` start the server.
 */

const TASKS = 'docs/tasks';

describe.each(readdirSync(TASKS))('%s', (name) => {
  const page = readFileSync(join(TASKS, name), 'utf8');

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
      expect(() => readFileSync(join(TASKS, target!))).not.toThrow();
  });

  it('is linked from the README', () => {
    expect(readFileSync('README.md', 'utf8')).toContain(`docs/tasks/${name}`);
  });
});
