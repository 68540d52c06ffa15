import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const { printPage } = (await import('./fixed-limits.mjs' as string)) as { printPage(): string };

it('docs/reference/server/limits.md lists the limits of all rooms: node test/docs/fixed-limits.mjs > docs/reference/server/limits.md', () => {
  const page = printPage();
  expect(page.match(/^\| .* \| `/gm)!.length).toBeGreaterThan(150);
  expect(page).toContain('| `itemsMax` | 2,000 |');
  expect(readFileSync('docs/reference/server/limits.md', 'utf8')).toBe(page);
});
