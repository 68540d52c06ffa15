import { expect } from 'vitest';

/** What every page must be: one document, one h1, a language, a title, landmarks, and nothing that runs inline. */
export function expectSoundPage(page: string): void {
  expect(page.startsWith('<!doctype html>')).toBe(true);
  expect(page).toContain('<html lang="en">');
  expect(page.match(/<title>[^<]+<\/title>/g)).toHaveLength(1);
  expect(page.match(/<h1[ >]/g)).toHaveLength(1);
  expect(page.match(/<main[ >]/g)).toHaveLength(1);
  expect(page).toMatch(/<header[ >]/);
  expect(page).toMatch(/<footer[ >]/);
  expect(page).toContain('href="#main"');
  expectBalanced(page);
  expectNothingInline(page);
}

const VOID = new Set([
  'meta',
  'link',
  'input',
  'img',
  'br',
  'hr',
  '!doctype',
  'path',
  'rect',
  'circle',
  'ellipse',
  'image',
  'wbr',
]);

/** Every element is closed in order, which text that slipped through as markup would break. */
function expectBalanced(page: string): void {
  const open: string[] = [];
  const bare = page.replace(/(<script\b[^>]*>)[\s\S]*?(<\/script>)/g, '$1$2');
  for (const [, end, name] of bare.matchAll(/<(\/?)([!a-z][a-z0-9]*)\b[^>]*>/gi)) {
    const tag = name!.toLowerCase();
    if (VOID.has(tag)) continue;
    if (!end) open.push(tag);
    else expect(open.pop(), `</${tag}>`).toBe(tag);
  }
  expect(open).toEqual([]);
}

/** The content security policy refuses inline scripts and handlers; so none may be written. */
function expectNothingInline(page: string): void {
  for (const [, attributes, content] of page.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/g)) {
    if (attributes!.includes('type="application/json"')) expect(() => JSON.parse(content!)).not.toThrow();
    else expect(content).toBe('');
  }
  expect(page.replace(/="[^"]*"/g, '=""')).not.toMatch(/<[a-z][^>]*\son\w+=/i);
  expect(page).not.toMatch(/(href|src|action)="(javascript|data|vbscript):/i);
}

/** Sources of scripts, style sheets and images that a page loads by itself. */
export function loaded(page: string): string[] {
  const scripts = [...page.matchAll(/<script\b[^>]*\ssrc="([^"]+)"/g)];
  const styles = [...page.matchAll(/<link rel="(?:stylesheet|icon)" href="([^"]+)"/g)];
  return [...scripts, ...styles].map((match) => match[1]!);
}

export function pageJson<T>(page: string, id: string): T {
  const found = new RegExp(`<script type="application/json" id="${id}">([\\s\\S]*?)</script>`).exec(page);
  return JSON.parse(found![1]!) as T;
}
