import type { Page } from 'playwright-core';

/** Follows the links of pages, and looks at each kind of page. */

/** Path of a page with its ids replaced, so that pages of one kind have the same. */
export function pageKind(url: string): string {
  const { pathname, searchParams } = new URL(url);
  const parts = pathname.split('/').map((part, i, all) => {
    const before = all[i - 1] ?? '';
    const isId = /^(collections|items|tiles|styles|processes|jobs|services|docs|sources|live)$/.test(before);
    if (/^[\d-]+$/.test(part) || (isId && part !== '')) return '*';
    return /Server$/.test(before) && /^\d+$/.test(part) ? '*' : part;
  });
  return [parts.join('/'), ...[...searchParams.keys()].filter((name) => name !== 'f').sort()].join(' ');
}

export interface CrawlOptions {
  readonly origin: string;
  readonly starts: readonly string[];
  /** Pages of one kind that are visited. */
  readonly perKind: number;
  readonly most: number;
  /** Pages of the manual are tested on their own. */
  readonly skip?: RegExp;
}

/** Visits pages until no link leads to a new kind. `look` returns the faults of the page that is open. */
export async function crawl(
  page: Page,
  { origin, starts, perKind, most, skip = /^\/(manual|docs)\/./ }: CrawlOptions,
  look: (url: string) => Promise<string[]>,
): Promise<{ visited: string[]; faults: Record<string, string[]> }> {
  const queue = starts.map((path) => origin + path);
  const seen = new Set(queue);
  const kinds = new Map<string, number>();
  const visited: string[] = [];
  const faults: Record<string, string[]> = {};
  while (queue.length > 0 && visited.length < most) {
    const url = queue.shift()!;
    const kind = pageKind(url);
    const count = kinds.get(kind) ?? 0;
    if (count >= perKind) continue;
    if (!(await isPage(url))) continue;
    kinds.set(kind, count + 1);
    await page.goto(url, { waitUntil: 'load' });
    visited.push(url.slice(origin.length));
    const wrong = await look(url);
    if (wrong.length > 0) faults[url.slice(origin.length)] = wrong;
    for (const href of (await page.evaluate(LINKS)) as string[]) {
      const [next] = href.split('#') as [string];
      if (!next.startsWith(`${origin}/`) || seen.has(next) || skip.test(next.slice(origin.length))) continue;
      seen.add(next);
      queue.push(next);
    }
  }
  return { visited, faults };
}

/** What Chromium accepts when it follows a link. */
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

/** Whether a browser gets a page there, and not a file or a document. */
async function isPage(url: string): Promise<boolean> {
  if (/[?&]f=(?!html)/.test(url)) return false;
  const abort = new AbortController();
  try {
    const { headers, body } = await fetch(url, { headers: { accept: ACCEPT }, signal: abort.signal });
    await body?.cancel();
    return (headers.get('content-type') ?? '').startsWith('text/html');
  } finally {
    abort.abort();
  }
}

const LINKS = `[...document.querySelectorAll('a[href]:not([download])')].map((a) => a.href)`;

/** Faults that a reader sees: text cut by its box or by the window, links without a text or a target. */
export async function readingFaults(page: Page): Promise<string[]> {
  return (await page.evaluate(READING)) as string[];
}

const READING = `(() => {
  const faults = [];
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.getClientRects().length > 0;
  const words = (e) => (e.innerText || e.textContent || '').trim().replace(/\\s+/g, ' ').slice(0, 50);
  const name = (e) => e.tagName.toLowerCase() + (e.className && typeof e.className === 'string' ? '.' + e.className.split(' ')[0] : '');
  for (const a of document.querySelectorAll('a')) {
    if (!shown(a)) continue;
    const text = words(a) || a.getAttribute('aria-label') || a.querySelector('img')?.alt || a.querySelector('title')?.textContent || '';
    if (text.trim() === '') faults.push('link without a text: ' + a.outerHTML.slice(0, 80));
    if (a.getAttribute('href') === '' || a.getAttribute('href') === '#') faults.push('link without a target: ' + text);
  }
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.maplibregl-map, svg, .unseen, .skip') || !shown(e)) continue;
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim() !== '');
    const style = getComputedStyle(e);
    const clips = (v) => v === 'hidden' || v === 'clip';
    if (own && clips(style.overflowX) && style.textOverflow !== 'ellipsis' && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1)
      faults.push('text cut at the right: ' + name(e) + ' ' + words(e));
    if (own && clips(style.overflowY) && !e.style.webkitLineClamp && style.webkitLineClamp === 'none' && e.scrollHeight > e.clientHeight + 2 && e.clientHeight > 1)
      faults.push('text cut below: ' + name(e) + ' ' + words(e));
    if (own && !e.closest('.scroll, pre, .crumbs, [data-scroll]')) {
      const r = e.getBoundingClientRect();
      if (r.width > 1 && r.right > innerWidth + 1) faults.push('beyond the window: ' + name(e) + ' ' + words(e));
    }
  }
  // Tables of data scroll on their own; tables with the same columns on each page fit.
  for (const s of document.querySelectorAll('.scroll[aria-label="Downloads"], .scroll[aria-label="Fields"], .scroll[aria-label="Jobs"]'))
    if (shown(s) && s.scrollWidth > s.clientWidth + 1) faults.push('table wider than its box: ' + s.getAttribute('aria-label'));
  return [...new Set(faults)];
})()`;
