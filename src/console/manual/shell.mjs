import { pagePath, relativePath } from './markdown.mjs';

/** A page of the manual as HTML. It links by relative paths only, so that the folder works wherever it is served. */

const ESCAPES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeText = (text) => text.replace(/[&<>"]/g, (sign) => ESCAPES[sign]);

/** The header leads to the server that has the manual below `/manual/`: one folder above it. */
export function renderPage(page, { tree, order }) {
  const { source, title, html } = page;
  const own = pagePath(source);
  const to = (path) => relativePath(own, path);
  const link = (target, attributes = '') =>
    `<a href="${to(pagePath(target.source))}"${attributes}>${escapeText(target.title)}</a>`;
  const trail = findTrail(tree, source);
  const home = `${to('index.html').replace(/index\.html$/, '')}../`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(trail.length > 1 ? `${title} · Graticule manual` : 'Graticule manual')}</title>
<link rel="icon" href="${to('assets/mark.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${to('assets/site.css')}">
<link rel="stylesheet" href="${to('assets/manual.css')}">
<script type="module" src="${to('assets/manual.js')}"></script>
</head>
<body class="manual">
<a class="skip" href="#main">Skip to content</a>
<header class="site-header">
<a class="brand" href="${home}"><img class="mark" src="${to('assets/mark.svg')}" width="28" height="28" alt=""><span>Graticule</span></a>
<nav aria-label="Path"><ol class="crumbs">${trail.map((step, at) => `<li>${crumb(step, at === trail.length - 1, link)}</li>`).join('')}</ol></nav>
<search class="find"><form role="search" data-search hidden><label class="hidden-text" for="search">Search the manual</label><input id="search" name="q" type="search" placeholder="Search the manual" autocomplete="off" spellcheck="false"></form><div class="found" data-found hidden></div><p class="hidden-text" role="status" data-found-status></p></search>
<a class="to-contents" href="#contents">Contents</a>
</header>
<div class="sheet">
<main id="main" tabindex="-1">
<article>
${html}</article>
${neighbours(page, order, link)}</main>
${outline(page)}<nav class="contents" id="contents" aria-label="Contents">
${contents(tree, trail, link)}
</nav>
</div>
<footer class="site-footer"><p>The manual of <a href="${home}">Graticule</a>, a geospatial data server.</p></footer>
</body>
</html>
`;
}

function crumb({ page }, isLast, link) {
  // The first page has the name of the folder of files.
  const named = page.source === 'README.md' ? { ...page, title: 'Manual' } : page;
  return link(named, isLast ? ' aria-current="page"' : '');
}

/** The nodes from the root to a page. */
function findTrail(node, source) {
  if (node.page.source === source) return [node];
  for (const child of node.children) {
    const rest = findTrail(child, source);
    if (rest.length > 0) return [node, ...rest];
  }
  return [];
}

/** Pages in the order of the table of contents. */
export function inOrder(node) {
  return [node.page, ...node.children.flatMap(inOrder)];
}

/** All parts; the parts around the page with their pages. */
function contents({ children }, trail, link) {
  const items = children.map((child) => {
    const { page } = child;
    const isHere = trail.at(-1)?.page === page;
    const isOpen = trail.some((step) => step.page === page) && child.children.length > 0;
    return `<li>${link(page, isHere ? ' aria-current="page"' : '')}${isOpen ? contents(child, trail, link) : ''}</li>`;
  });
  return `<ul>${items.join('')}</ul>`;
}

/** Headings of the second level, if there are enough to need a list. */
function outline({ headings }) {
  const listed = headings.filter(({ level }) => level === 2);
  if (listed.length < 2) return '';
  const items = listed.map(({ id, text }) => `<li><a href="#${id}">${escapeText(text)}</a></li>`);
  return `<nav class="outline" aria-labelledby="outline"><h2 id="outline">On this page</h2><ul>${items.join('')}</ul></nav>
`;
}

function neighbours(page, order, link) {
  const at = order.indexOf(page);
  const [before, after] = [order[at - 1], order[at + 1]];
  const parts = [
    before ? `<p>Previous: ${link(before, ' rel="prev"')}</p>` : '',
    after ? `<p>Next: ${link(after, ' rel="next"')}</p>` : '',
  ];
  return `<nav class="neighbours" aria-label="Neighbouring pages">${parts.join('')}</nav>
`;
}
