/** The manual as its build reads it (src/console/manual). */

export interface ManualPage {
  /** Path of the Markdown file below docs/. */
  readonly source: string;
  readonly title: string;
  readonly html: string;
  readonly ids: ReadonlySet<string>;
}

interface Node {
  readonly page: ManualPage;
  readonly children: readonly Node[];
}

export interface Manual {
  readonly pages: ReadonlyMap<string, ManualPage>;
  readonly tree: Node;
  readonly images: readonly string[];
  /** Dead links. */
  readonly problems: readonly string[];
}

type Site = { readManual(folder: string): Promise<Manual>; buildIndex(pages: Manual['pages']): string };
type Shell = {
  renderPage(page: ManualPage, site: { tree: Node; order: readonly ManualPage[] }): string;
  inOrder(tree: Node): ManualPage[];
};
type Markdown = {
  pagePath(source: string): string;
  renderMarkdown(
    source: string,
    text: string,
    has: (name: string) => boolean,
  ): ManualPage & { problems: string[] };
};

export const { readManual, buildIndex } = (await import(
  '../../src/console/manual/site.mjs' as string
)) as Site;
export const { renderPage, inOrder } = (await import(
  '../../src/console/manual/shell.mjs' as string
)) as Shell;
export const { pagePath, renderMarkdown } = (await import(
  '../../src/console/manual/markdown.mjs' as string
)) as Markdown;
