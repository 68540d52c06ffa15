import { isDrawable } from '../../../core/catalog/abilities.js';
import { html, type Markup } from '../../../core/values/html.js';
import { renderSection } from '../layout.js';
import { programSnippets } from './programs.js';
import { qgisSteps } from './qgis.js';
import { type Snippet, type SnippetSubject, STYLE_MARK } from './snippet.js';
import { webSnippets } from './web.js';

export { connectionXml } from './qgis.js';

/** Section of a collection's page with code for other programs. */
export function snippetSection(subject: SnippetSubject): Markup | undefined {
  const [web, programs] = [webSnippets(subject), programSnippets(subject)];
  const steps = qgisSteps(subject);
  const entries = [
    ...web.map((one) => snippetEntry(one)),
    ...(steps ? [entry('qgis', 'QGIS', steps)] : []),
    ...programs.map((one) => snippetEntry(one)),
  ];
  return renderSection(
    'Use in other programs',
    html`<p>You can paste these examples; they contain the URLs of this server.</p>
${styleChoice(subject)}<div class="snippets">${entries}</div>`,
  );
}

function entry(id: string, title: string, content: Markup): Markup {
  return html`<details class="snippet" id="use-${id}" name="use"><summary>${title}</summary>${content}</details>`;
}

function snippetEntry({ id, title, intro, code, language }: Snippet): Markup {
  const parts = code.split(STYLE_MARK);
  const marked = parts.map((part, i) =>
    i === 0 ? html`${part}` : html`<span data-style>default</span>${part}`,
  );
  return entry(
    id,
    title,
    html`<p>${intro}</p><div class="code"><pre tabindex="0" role="region" aria-label="${`Code for ${title}`}"><code class="language-${language}" data-snippet="${id}">${marked}</code></pre><button type="button" data-copy hidden>Copy</button></div>`,
  );
}

/** A choice among the styles of the collection, for the snippets that name one. */
function styleChoice({ collection }: SnippetSubject): Markup | undefined {
  const styles = isDrawable(collection) ? (collection.styles ?? []) : [];
  if (styles.length === 0) return undefined;
  const options = [{ id: 'default', title: 'As shown above' }, ...styles].map(
    ({ id, title }) => html`<option value="${id}">${title}</option>`,
  );
  return html`<p class="style-choice" hidden data-style-choice><label>Style <select>${options}</select></label></p>\n`;
}
