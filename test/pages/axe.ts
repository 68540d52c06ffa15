import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');

/** Colours are all that differs in the dark. */
const SCHEMES = [
  ['light', undefined],
  ['dark', ['color-contrast', 'link-in-text-block']],
] as const;

/** What axe finds wrong with a page, everything on it opened, light and dark. The page's context goes round its CSP. */
export async function axeFaults(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: AXE });
  await page.evaluate(() => {
    for (const details of document.querySelectorAll('details')) {
      details.removeAttribute('name');
      details.open = true;
    }
  });
  const faults: string[] = [];
  for (const [colorScheme, rules] of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    faults.push(...(await violations(page, rules && [...rules])).map((one) => `${colorScheme}: ${one}`));
  }
  await page.emulateMedia({ colorScheme: null });
  return faults;
}

/** What is wrong with a page as it is, for those who see it badly or not at all; by all rules, or by these. */
async function violations(page: Page, rules?: string[]): Promise<string[]> {
  return page.evaluate(async (rules) => {
    const { axe } = window as unknown as { axe: { run(context: object, options: object): Promise<unknown> } };
    const { violations } = (await axe.run(document, {
      resultTypes: ['violations'],
      ...(rules && { runOnly: rules }),
    })) as {
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
    };
    return violations.flatMap(({ id, nodes }) =>
      nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary}`),
    );
  }, rules);
}
