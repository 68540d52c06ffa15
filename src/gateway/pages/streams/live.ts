import type { Collection, VectorCollection } from '../../../core/catalog/collection.js';
import type { LiveData, MapData } from '../../../core/catalog/page-data.js';
import { LIMITS } from '../../../core/kit/limits.js';
import { html, type Markup, scriptJson } from '../../../core/values/html.js';
import { type Crumb, type PageFrame, page, sitePath } from '../layout.js';
import { anchor } from '../links.js';
import { basemapData } from '../maps/basemap.js';
import { buildItemsUrl, createMapLayers, mergeBoxes } from '../maps/map-data.js';
import { mapFrame, mapHead, mapPicture, titleWithSource } from '../maps/map-frame.js';
import { formatCount } from '../values.js';

export interface LivePage extends PageFrame {
  /** The only collection of the page. If absent, the page shows all of `followed`. */
  readonly only?: VectorCollection;
  readonly followed: readonly VectorCollection[];
  /** Other collections that can be followed. */
  readonly choice?: LiveChoice;
}

interface LiveChoice {
  readonly published: number;
  /** Labels that distinguish equal titles. */
  readonly titles: ReadonlyMap<Collection, string>;
  /** Words that are searched for. */
  readonly q: string | undefined;
  readonly total: number;
  /** The first results of the search. */
  readonly matches: readonly Collection[];
}

/** A map of collections with their changes as they come, and a list of the last ones. */
export function livePage(input: LivePage): string {
  const { baseUrl, reader, only, followed } = input;
  const title = only ? `Live: ${only.title}` : 'Live';
  const body = html`<h1>${only ? html`Live: <bdi>${only.title}</bdi>` : 'Live changes'}</h1>
<p class="lead">Edits appear here immediately, on the map and in the list.</p>
${followed.length > 0 ? following(input) : chooseFirst(input)}`;
  const crumbs: Crumb[] = [{ title: 'Live', href: `${baseUrl}/live` }];
  if (only) crumbs.push({ title: only.title, href: liveUrl(baseUrl, only.id) });
  return page({ baseUrl, reader, title, crumbs, body, head: mapHead(baseUrl), scripts: ['live.js'] });
}

export function liveUrl(baseUrl: string, id: string): string {
  return `${baseUrl}/live/${encodeURIComponent(id)}`;
}

const COUNTS = [
  ['insert', 'Inserted'],
  ['update', 'Updated'],
  ['delete', 'Deleted'],
  ['gap', 'Gaps'],
  ['reconnect', 'Reconnects'],
] as const;

function following(input: LivePage): Markup {
  const { baseUrl, only, followed } = input;
  const counts = COUNTS.map(
    ([name, label]) => html`<div><dt>${label}</dt><dd class="num" data-live-count="${name}">0</dd></div>`,
  );
  return html`<p class="live-state" role="status" data-live-state="connecting">Connecting…</p>
${liveMap(input)}
${chooser(input)}
<dl class="live-counts">${counts}</dl>
<section class="part"><h2>Last changes</h2>
<p><button type="button" class="button" data-live-pause aria-pressed="false">Pause</button></p>
<noscript><p class="map-note">Live changes require JavaScript.</p></noscript>
<p class="none" data-live-none>No changes since this page was opened.</p>
<ol class="live-list" data-live-list></ol></section>
${only ? html`<p class="part">${anchor(`${baseUrl}/live`, 'Follow several collections')}</p>` : undefined}
<script type="application/json" id="live-data">${scriptJson(buildLiveData(baseUrl, followed))}</script>`;
}

/** The page before the reader has chosen what to follow. */
function chooseFirst({ baseUrl, choice }: LivePage): Markup {
  if (!choice || choice.published === 0) return html`<p class="none">There is no feature collection.</p>`;
  return html`<section class="part live-choice"><h2>Choose what to follow</h2>${suggestionList(baseUrl, [], choice)}</section>`;
}

/**
 * The followed collections, and links for adding more. They are plain links, because the URL contains the followed
 * collections.
 */
function chooser({ baseUrl, followed, choice }: LivePage): Markup | undefined {
  if (!choice || choice.published < 2) return undefined;
  const { published, titles, q } = choice;
  const ids = followed.map(({ id }) => id);
  const formatName = (one: Collection) => titleWithSource(one.title, titles.get(one));
  const options = followed.map(
    (one) =>
      html`<li class="live-one">${formatName(one)} ${ids.length > 1 ? html`<a href="${followingUrl(baseUrl, without(ids, one.id), q)}">Remove<span class="unseen"> ${one.title}</span></a>` : undefined}</li>`,
  );
  return html`<details class="live-choice"${q === undefined ? undefined : html` open`}><summary>Follows ${ids.length} of ${formatCount(published)} collections</summary>
<h2>Followed</h2>
<ul class="live-chosen">${options}</ul>
<h2>Other collections</h2>
${suggestionList(baseUrl, ids, choice)}
</details>`;
}

/** A search for collections, and its first results with links that add them to the followed ones. */
function suggestionList(baseUrl: string, ids: readonly string[], choice: LiveChoice): Markup {
  const { titles, q, total, matches } = choice;
  const full = ids.length >= LIMITS.collectionsPerRequest;
  const others = matches.filter(({ id }) => !ids.includes(id));
  const more = others.map(
    (one) =>
      html`<li class="live-one">${titleWithSource(one.title, titles.get(one))} ${full ? undefined : html`<a href="${followingUrl(baseUrl, [...ids, one.id], q)}">Follow<span class="unseen"> ${one.title}</span></a>`}</li>`,
  );
  const kept =
    ids.length > 0 ? html`<input type="hidden" name="collections" value="${ids.join(',')}">` : undefined;
  return html`<form class="finder" role="search" method="get" action="${`${sitePath(baseUrl)}/live`}">
${kept}
<label class="finder-words"><span>Search</span><input type="search" name="q" value="${q ?? ''}" placeholder="Name, attribute or source" maxlength="200" autocomplete="off"></label>
<button class="finder-button" type="submit">Search</button>
</form>
${full ? html`<p>A page follows at most ${LIMITS.collectionsPerRequest} collections: remove one first.</p>` : undefined}
${others.length > 0 ? html`<ul class="live-chosen">${more}</ul>` : html`<p class="none">${total === 0 ? 'No matches.' : 'All matching collections are already selected.'}</p>`}
${total > matches.length ? html`<p>${formatCount(total - matches.length)} more match.</p>` : undefined}`;
}

const without = (ids: readonly string[], id: string) => ids.filter((one) => one !== id);

function followingUrl(baseUrl: string, ids: readonly string[], q: string | undefined): string {
  const words = q === undefined ? '' : `&q=${encodeURIComponent(q)}`;
  return `${sitePath(baseUrl)}/live?collections=${ids.map(encodeURIComponent).join(',')}${words}`;
}

function buildLiveData(baseUrl: string, followed: readonly VectorCollection[]): LiveData {
  const layers = followed.map((one) => {
    const { id, layerId, title } = one;
    return { id, layerId, title, items: buildItemsUrl(one, baseUrl) };
  });
  return { baseUrl, stream: `${baseUrl}/api/v1/streaming/features`, layers };
}

function liveMap({ baseUrl, only, followed, choice }: LivePage): Markup {
  const boxes = followed.flatMap(({ extent84 }) => (extent84 ? [extent84] : []));
  const data: MapData = {
    baseUrl,
    bounds: mergeBoxes(boxes) ?? null,
    layers: createMapLayers(followed, baseUrl),
    basemap: basemapData(baseUrl),
    features: null,
  };
  const label = only ? `Live map of ${only.title}` : 'Live map of all collections of features';
  return mapFrame({
    data,
    label,
    picture: only && mapPicture(baseUrl, only),
    switcher: !only,
    titles: choice?.titles,
    large: !only,
  });
}
