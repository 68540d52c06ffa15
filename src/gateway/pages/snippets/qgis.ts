import { hasFeatures, hasStoredTiles, hasVectorTiles } from '../../../core/catalog/abilities.js';
import type { Collection } from '../../../core/catalog/collection.js';
import { escapeHtml, html, type Markup } from '../../../core/values/html.js';
import { anchor } from '../links.js';
import { findImageTileFormat, type SnippetSubject, tilesUrl } from './snippet.js';

/** Kinds of QGIS connections, and the entry of the browser panel whose import dialog takes the file. */
const ENTRIES = {
  'qgis-features.xml': 'WFS / OGC API - Features',
  'qgis-tiles.xml': 'XYZ Tiles',
  'qgis-vector-tiles.xml': 'Vector Tiles',
} as const;

type ConnectionFile = keyof typeof ENTRIES;

/** Files of connections that a collection has. */
function connectionFiles(collection: Collection): ConnectionFile[] {
  const files: ConnectionFile[] = [];
  if (hasFeatures(collection)) files.push('qgis-features.xml');
  if (collection.storageCrs.isPlane) return files;
  if (findImageTileFormat(collection) !== undefined) files.push('qgis-tiles.xml');
  if (hasVectorTiles(collection)) files.push('qgis-vector-tiles.xml');
  return files;
}

/** The XML that the import dialog of QGIS takes (`QgsManageConnectionsDialog`); undefined for a file that there is none of. */
export function connectionXml(subject: SnippetSubject, name: string): string | undefined {
  const { baseUrl, collection } = subject;
  const title = `Graticule: ${collection.title}`;
  if (!connectionFiles(collection).includes(name as ConnectionFile)) return undefined;
  const zooms = { zmin: '0', zmax: hasStoredTiles(collection) ? String(collection.maxZoom) : '16' };
  switch (name as ConnectionFile) {
    case 'qgis-features.xml':
      return connections('qgsWFSConnections', '1.1', 'wfs', {
        name: 'Graticule',
        url: `${baseUrl}/ogc/features`,
        version: 'OGC_API_FEATURES',
        pagingenabled: 'true',
        pagesize: '1000',
        maxnumfeatures: '',
      });
    case 'qgis-tiles.xml':
      return connections('qgsXYZTilesConnections', '1.0', 'xyztiles', {
        name: title,
        url: tilesUrl(subject, findImageTileFormat(collection)!),
        ...zooms,
      });
    case 'qgis-vector-tiles.xml':
      return connections('qgsVectorTileConnections', '1.0', 'vectortile', {
        name: title,
        url: tilesUrl(subject, 'mvt'),
        ...zooms,
        ...(hasFeatures(collection)
          ? { styleUrl: `${baseUrl}/ogc/maps/collections/${collection.layerId}/styles/default?f=mapbox` }
          : {}),
      });
  }
}

function connections(
  root: string,
  version: string,
  element: string,
  attributes: Readonly<Record<string, string>>,
): string {
  const text = Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapeHtml(value)}"`)
    .join('');
  return `<!DOCTYPE connections>\n<${root} version="${version}">\n  <${element}${text}/>\n</${root}>\n`;
}

/** Steps in QGIS. */
export function qgisSteps(subject: SnippetSubject): Markup | undefined {
  const { baseUrl, collection } = subject;
  const files = connectionFiles(collection);
  if (files.length === 0) return undefined;
  const folder = `${baseUrl}/pages/collections/${encodeURIComponent(collection.id)}`;
  return html`<ol class="steps">
<li>Download a connection: ${files.map(
    (file, i) => html`${i > 0 ? ', ' : ''}<a href="${folder}/${file}" download>${describe(file)}</a>`,
  )}.</li>
<li>In the Browser panel of QGIS, right-click ${[...new Set(files)].map(
    (file, i) => html`${i > 0 ? ' or ' : ''}<b>${ENTRIES[file]}</b>`,
  )}, whichever you downloaded, and choose <b>Load Connections…</b></li>
<li>Choose the file, then <b>Select All</b> and <b>Import</b>.</li>
<li>Open the new connection and double-click <b><bdi>${hasFeatures(collection) ? collection.title : `Graticule: ${collection.title}`}</bdi></b>.</li>
</ol>
${
  hasFeatures(collection)
    ? html`<p>Without a file: <b>New Connection…</b>, enter a name and this URL <code>${baseUrl}/ogc/features</code>. ${anchor(`${baseUrl}/ogc/features/`, 'Content of this URL')}</p>`
    : undefined
}`;
}

function describe(file: ConnectionFile): string {
  return {
    'qgis-features.xml': 'features with their attributes',
    'qgis-tiles.xml': 'a rendered map in tiles',
    'qgis-vector-tiles.xml': 'vector tiles in the style of the map',
  }[file];
}
