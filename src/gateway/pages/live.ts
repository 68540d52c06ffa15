import type { VectorCollection } from '../../core/collection.js';
import { html, type Markup, scriptJson } from '../../core/html.js';
import { basemapData } from './basemap.js';
import { type Crumb, page } from './layout.js';
import { anchor } from './links.js';
import { itemsUrl, mapLayers, unionOf } from './map-data.js';
import { mapFrame, mapHead, mapPicture } from './map-frame.js';
import type { LiveData, MapData } from './page-data.js';

export interface LivePage {
  readonly baseUrl: string;
  /** The only collection of the page; all of `followed` when absent. */
  readonly only?: VectorCollection;
  readonly followed: readonly VectorCollection[];
}

/** A map of collections with their changes as they come, and a list of the last ones. */
export function livePage(input: LivePage): string {
  const { baseUrl, only, followed } = input;
  const title = only ? `Live: ${only.title}` : 'Live';
  const body = html`<h1>${only ? html`Live: <bdi>${only.title}</bdi>` : 'Live changes'}</h1>
<p class="lead">What is edited appears here at once: on the map, and in the list below it.</p>
${followed.length > 0 ? following(input) : html`<p class="none">There is no collection of features to follow.</p>`}`;
  const crumbs: Crumb[] = [{ title: 'Live', href: `${baseUrl}/live` }];
  if (only) crumbs.push({ title: only.title, href: liveUrl(baseUrl, only.id) });
  return page({ baseUrl, title, crumbs, body, head: mapHead(baseUrl), scripts: ['live.js'] });
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
<dl class="live-counts">${counts}</dl>
<section class="part"><h2>Last changes</h2>
<p><button type="button" class="button" data-live-pause aria-pressed="false">Hold the list</button></p>
<noscript><p class="map-note">Following changes needs JavaScript.</p></noscript>
<p class="none" data-live-none>Nothing has changed since this page was opened.</p>
<ol class="live-list" data-live-list></ol></section>
${only ? html`<p class="part">${anchor(`${baseUrl}/live`, 'Follow all collections')}</p>` : undefined}
<script type="application/json" id="live-data">${scriptJson(dataOf(baseUrl, followed))}</script>`;
}

function dataOf(baseUrl: string, followed: readonly VectorCollection[]): LiveData {
  const layers = followed.map((one) => {
    const { id, layerId, title } = one;
    return { id, layerId, title, items: itemsUrl(one, baseUrl) };
  });
  return { baseUrl, stream: `${baseUrl}/api/v1/streaming/features`, layers };
}

function liveMap({ baseUrl, only, followed }: LivePage): Markup {
  const boxes = followed.flatMap(({ extent84 }) => (extent84 ? [extent84] : []));
  const data: MapData = {
    baseUrl,
    bounds: unionOf(boxes) ?? null,
    layers: mapLayers(followed, baseUrl),
    basemap: basemapData(baseUrl),
    features: null,
  };
  const label = only ? `Live map of ${only.title}` : 'Live map of all collections of features';
  return mapFrame({ data, label, picture: only && mapPicture(baseUrl, only), switcher: !only, large: !only });
}
