import { html } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page, renderSection } from '../layout.js';
import { linkList, type PageLink, representationLine, selectResourceLinks } from '../links.js';

/** Landing page document of an OGC API (OGC 19-072, 7.2) as far as a reader needs it. */
export interface LandingPage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly title: string;
  readonly description?: string;
  readonly links: readonly PageLink[];
  /** Conformance class URIs, when the landing document lists them (STAC). */
  readonly conformsTo?: readonly string[];
}

export function renderLandingPage(input: LandingPage): string {
  const { title, description, links, conformsTo = [] } = input;
  const body = html`<h1>${title}</h1>
${description ? html`<p class="lead">${description}</p>` : undefined}
${representationLine(links)}
${renderSection('Resources', linkList(selectResourceLinks(links)))}
${renderSection('Conformance', conformsTo.length > 0 ? classList(conformsTo) : undefined)}`;
  return page({ ...input, body, alternates: links });
}

export interface ConformancePage extends PageFrame {
  readonly crumbs: readonly Crumb[];
  readonly conformsTo: readonly string[];
  readonly links?: readonly PageLink[];
}

/** Conformance declaration: the class URIs, grouped by standard. */
export function renderConformancePage(input: ConformancePage): string {
  const { conformsTo, links = [] } = input;
  const groups = [...groupByStandard(conformsTo)].map(
    ([standard, uris]) => renderSection(standard, classList(uris))!,
  );
  const body = html`<h1>Conformance</h1>
<p class="lead">Conformance classes of the API.</p>
${representationLine(links)}
${groups}`;
  return page({ ...input, title: 'Conformance', body, alternates: links });
}

function classList(uris: readonly string[]) {
  return html`<ul class="plain">${uris.map((uri) => html`<li><code>${uri}</code></li>`)}</ul>`;
}

/** `.../spec/ogcapi-features-1/1.0/conf/core` belongs to `ogcapi-features-1`. */
function groupByStandard(uris: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const uri of uris) {
    const standard = /\/spec\/([^/]+)\//.exec(uri)?.[1] ?? /^https?:\/\/([^/]+)/.exec(uri)?.[1] ?? 'Other';
    const group = groups.get(standard);
    if (group) group.push(uri);
    else groups.set(standard, [uri]);
  }
  return groups;
}
