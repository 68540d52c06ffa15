import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';

/**
 * One Markdown file as a page of the manual. Headings have the ids that GitHub gives them. The rows of a table whose first
 * cell is one name in code, or a number, have that as their id, and so have names in the second cell: settings, log events
 * and metrics can be linked to. HTML in the Markdown is shown as text.
 */
const markdown = new MarkdownIt({ html: false, linkify: false });
const PARSED_FRONT_MATTER = /^---\n([\s\S]*?)\n---\n/;

/**
 * @param source path of the file below the folder of the documentation, such as `reference/server/logs.md`
 * @param has says whether there is a file of this path in that folder
 */
export function renderMarkdown(source, text, has) {
  const { keywords, body } = splitFrontMatter(text);
  const page = { source, keywords, problems: [], links: [], ids: new Set(), headings: [], sections: [] };
  const tokens = markdown.parse(body, {});
  nameHeadings(tokens, page);
  nameRows(tokens, page);
  for (const token of tokens) resolveChildren(token.children ?? [], page, has);
  collectSections(tokens, page);
  const html = markdown.renderer.render(tokens, markdown.options, {});
  return { ...page, title: page.headings[0]?.text ?? source, html };
}

/** Words that readers search for, which the text of a page does not have: `keywords: a, b` between two lines of `---`. */
function splitFrontMatter(text) {
  const [head, matter] = PARSED_FRONT_MATTER.exec(text) ?? ['', ''];
  return { keywords: /^keywords: *(.*)$/m.exec(matter)?.[1] ?? '', body: text.slice(head.length) };
}

/** Rules of the renderer: code and wide tables scroll by themselves, and can be reached with the keyboard. */
markdown.renderer.rules.table_open = (tokens, at, options, _env, self) =>
  `<div class="scroll" role="region" aria-label="${tokens[at].meta.label}" tabindex="0">${self.renderToken(tokens, at, options)}`;
markdown.renderer.rules.table_close = () => '</table></div>\n';
markdown.renderer.rules.th_open = (tokens, at) => `<th scope="col"${alignment(tokens[at])}>`;
markdown.renderer.rules.td_open = (tokens, at) => {
  const id = tokens[at].attrGet('id');
  return `<td${id ? ` id="${id}"` : ''}${alignment(tokens[at])}>`;
};
for (const rule of ['fence', 'code_block'])
  markdown.renderer.rules[rule] = (tokens, at) =>
    `<pre tabindex="0"><code>${markdown.utils.escapeHtml(tokens[at].content)}</code></pre>\n`;

/** Characters that a column of a table can be wide for a word. */
const WIDEST_WORD = 24;

/** Names in the cells of a table break after dots and underscores, and elsewhere only if they would make wide columns. */
markdown.renderer.rules.code_inline = (tokens, at) => {
  const { content, meta } = tokens[at];
  if (!meta?.isCell) return `<code>${markdown.utils.escapeHtml(content)}</code>`;
  const parts = content.split(/(?<=[._/,])(?=\w)/).map(markdown.utils.escapeHtml);
  const isWide = content.split(/[\s._/,]/).some(({ length }) => length > WIDEST_WORD);
  return `<code${isWide ? ' class="wide"' : ''}>${parts.join('<wbr>')}</code>`;
};

/** Numbers are aligned by a class: a strict policy refuses inline styles. */
function alignment(token) {
  return token.attrGet('style') === 'text-align:right' ? ' class="num"' : '';
}

/** The text of an inline token, without its marks. */
function plainText(token) {
  return (token.children ?? [])
    .map(({ type, content }) => (type === 'softbreak' || type === 'hardbreak' ? ' ' : content))
    .join('');
}

/** Ids as GitHub makes them. */
function slug(text) {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

function nameHeadings(tokens, page) {
  tokens.forEach((token, at) => {
    if (token.type !== 'heading_open') return;
    const text = plainText(tokens[at + 1]);
    const base = slug(text);
    let id = base;
    for (let n = 1; page.ids.has(id); n++) id = `${base}-${n}`;
    page.ids.add(id);
    token.attrSet('id', id);
    page.headings.push({ level: Number(token.tag.slice(1)), id, text });
  });
}

/** Ids of rows, by the first two cells. */
function nameRows(tokens, page) {
  let table = 0;
  let row;
  let column = 0;
  let isBody = false;
  tokens.forEach((token, at) => {
    if (token.type === 'table_open') token.meta = { label: `Table ${++table}` };
    if (token.type === 'tbody_open') isBody = true;
    if (token.type === 'tbody_close') isBody = false;
    if (token.type === 'tr_open') [row, column] = [token, 0];
    if (token.type !== 'td_open' || !isBody) return;
    for (const child of tokens[at + 1].children ?? []) child.meta = { isCell: true };
    const name = column < 2 ? rowName(tokens[at + 1]) : undefined;
    column += 1;
    if (name === undefined || page.ids.has(name)) return;
    if (column === 2 && !row.attrGet('id')) return;
    page.ids.add(name);
    (column === 1 ? row : token).attrSet('id', name);
  });
}

/** A cell that is one name in code, which a remark in brackets may follow, or a number. */
function rowName({ children, content }) {
  const [first, second] = children ?? [];
  if (first?.type === 'code_inline' && (!second || second.content.startsWith(' (')))
    return /^[^\s"'<>&#?%/]+$/.test(first.content) ? first.content : undefined;
  return /^\d{3,}$/.test(content) ? content : undefined;
}

/** Links to other pages lead to their HTML files; links to other files become plain text. */
function resolveChildren(children, page, has) {
  const open = [];
  for (const token of children) {
    if (token.type === 'link_open') open.push(resolveLink(token, page, has));
    else if (token.type === 'link_close') token.hidden = !open.pop();
    else if (token.type === 'image') resolveImage(token, page, has);
    if (token.type === 'link_open' && !open.at(-1)) token.hidden = true;
  }
}

/** False for a link that cannot be followed in the manual. */
function resolveLink(token, page, has) {
  const href = token.attrGet('href');
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return true;
  const [path, hash] = href.split('#');
  const target = path === '' ? page.source : posix.join(posix.dirname(page.source), decodeURI(path));
  const file = [target, posix.join(target, 'README.md')].find((name) => /\.md$/.test(name) && has(name));
  if (!file) {
    // Sources, tests and results of benches are linked for those who read the documentation in the repository.
    if (!target.startsWith('../')) page.problems.push(`${page.source}: there is no ${target}`);
    return false;
  }
  page.links.push({ file, hash });
  token.attrSet('href', `${relativePath(page.source, pagePath(file))}${hash ? `#${hash}` : ''}`);
  return true;
}

function resolveImage(token, page, has) {
  const source = token.attrGet('src');
  const target = posix.join(posix.dirname(page.source), source);
  if (!has(target)) page.problems.push(`${page.source}: there is no image ${target}`);
  token.attrSet('src', relativePath(page.source, target));
  token.attrSet('loading', 'lazy');
}

/** Path of the HTML file of a Markdown file. */
export function pagePath(source) {
  return source.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');
}

/** From one file of the manual to another. */
export function relativePath(from, to) {
  return posix.relative(posix.dirname(from), to);
}

/** What the search finds: the text below each heading, and each row that has a name. */
function collectSections(tokens, page) {
  let section;
  let row;
  tokens.forEach((token, at) => {
    if (token.type === 'heading_open' && token.tag <= 'h3') {
      section = {
        id: token.tag === 'h1' ? '' : token.attrGet('id'),
        heading: plainText(tokens[at + 1]),
        text: [],
      };
      section.level = Number(token.tag.slice(1));
      page.sections.push(section);
    } else if (token.type === 'tr_open' && token.attrGet('id')) {
      row = { id: token.attrGet('id'), heading: token.attrGet('id'), level: 0, text: [] };
      page.sections.push(row);
    } else if (token.type === 'tr_close') {
      row = undefined;
    } else if (token.type === 'inline' && tokens[at - 1]?.type !== 'heading_open') {
      (row ?? section)?.text.push(plainText(token));
    } else if (token.type === 'fence') {
      section?.text.push(token.content);
    }
  });
}
