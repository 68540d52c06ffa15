import Type from 'typebox';
import { isDrawable } from '../../core/catalog/abilities.js';
import type { Collection, RasterCollection, VectorCollection } from '../../core/catalog/collection.js';
import { findNumbered } from '../../core/catalog/find.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { notFound } from '../../core/errors/errors.js';
import { contentTag } from '../../core/http/content-tag.js';
import {
  type Format,
  HTML_FORMAT,
  JSON_FORMAT,
  MAPBOX_STYLE_FORMAT,
  SLD_FORMAT,
} from '../../core/http/media.js';
import { defineOperation, type Exchange, type Operation } from '../../core/http/operation.js';
import { defineListParam, pathString } from '../../core/http/params.js';
import { LIMITS } from '../../core/kit/limits.js';
import { styleDocument } from '../../core/styles/document.js';
import type { SldDiagnostic } from '../../core/styles/sld/report.js';
import { collectionStyle, datasetStyle } from '../../services/styles/client-style.js';
import { DEFAULT_STYLE, styled } from '../../services/styles/style-choice.js';
import { writeSld } from '../../services/styles/translations.js';
import * as pages from '../pages/index.js';
import {
  documentReply,
  formatLinks,
  type Link,
  META_FORMATS,
  type SurfaceDeps,
  selectCollections,
} from '../surface/common.js';
import { MAP_OPERATION, MAPS_PATH, mapCollectionParam } from './params.js';

const DOCUMENT = {
  200: { description: 'Document', content: { 'application/json': Type.Object({}) } },
  400: { description: 'A parameter is invalid' },
  404: { description: 'The collection does not exist or cannot have styles' },
};
const STYLESHEET = {
  ...DOCUMENT,
  200: {
    description: 'Style or its metadata',
    content: { [MAPBOX_STYLE_FORMAT.mediaType]: Type.Object({}), [SLD_FORMAT.mediaType]: null },
  },
  406: { description: 'The style is not available in this format' },
};
const TAG = 'Styles';

/** Map clients get the first format; `f=json` is metadata. */
const DATASET_FORMATS: readonly Format[] = [MAPBOX_STYLE_FORMAT, HTML_FORMAT, JSON_FORMAT];
const STYLE_FORMATS: readonly Format[] = [MAPBOX_STYLE_FORMAT, SLD_FORMAT, HTML_FORMAT, JSON_FORMAT];

const styleId = pathString('styleId', 'Identifier of a style.');
const collections = defineListParam(
  'collections',
  LIMITS.collectionsPerRequest,
  'Identifiers, bottom first. Default: all.',
);

/** Entry of a style in a list. */
interface StyleEntry {
  id: string;
  title: string;
  /** Losses in the translation of a style file. */
  diagnostics?: readonly SldDiagnostic[];
}

/** Operations for styles as documents: lists, style sheets and metadata (OGC API Styles, draft 20-009). */
export function styleOperations({ visible }: SurfaceDeps): Operation[] {
  return [
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getDatasetStyles',
      path: `${MAPS_PATH}/styles`,
      summary: 'Styles of the dataset',
      tag: TAG,
      formats: META_FORMATS,
      responses: DOCUMENT,
      run(x) {
        const entry = { id: DEFAULT_STYLE, title: 'All collections, each in its style' };
        const document = stylesDocument(x, MAPS_PATH, [entry], DATASET_FORMATS);
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Styles', document));
      },
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getDatasetStyle',
      path: `${MAPS_PATH}/styles/{styleId}`,
      summary: 'A style of several collections',
      description: 'The MapLibre style uses the tiles of the collections.',
      tag: TAG,
      params: { styleId, collections },
      formats: DATASET_FORMATS,
      responses: STYLESHEET,
      run(x) {
        if (x.params.styleId !== DEFAULT_STYLE) throw notFound('style', x.params.styleId.slice(0, 100));
        const collections = selectCollections(x, visible(x.principal), x.params.collections, () => true);
        if (x.format === MAPBOX_STYLE_FORMAT)
          return sheet(x, JSON.stringify(datasetStyle(collections, x.baseUrl)));
        const entry = { id: DEFAULT_STYLE, title: 'All collections, each in its style' };
        return metadataReply(x, MAPS_PATH, entry, DATASET_FORMATS);
      },
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getStyles',
      path: `${MAPS_PATH}/collections/{collectionId}/styles`,
      summary: 'Styles of a collection',
      tag: TAG,
      params: { collectionId: mapCollectionParam },
      formats: META_FORMATS,
      responses: DOCUMENT,
      run(x) {
        const collection = stylable(findNumbered(visible(x.principal), x.params.collectionId));
        const document = stylesDocument(x, buildPath(collection), listEntries(collection), STYLE_FORMATS);
        return documentReply(x, document, () => pages.buildDocumentPage(x, 'Styles', document));
      },
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getStyle',
      path: `${MAPS_PATH}/collections/{collectionId}/styles/{styleId}`,
      summary: 'A style of a collection',
      description: 'The MapLibre style uses the tiles of the collection. `sld11` is SLD 1.1.',
      tag: TAG,
      params: { collectionId: mapCollectionParam, styleId },
      formats: STYLE_FORMATS,
      responses: STYLESHEET,
      run(x) {
        const collection = stylable(findNumbered(visible(x.principal), x.params.collectionId));
        const entries = listEntries(collection);
        const entry = entries.find(({ id }) => id === x.params.styleId);
        if (!entry)
          throw notFound(
            'style',
            x.params.styleId.slice(0, 100),
            entries.map(({ id }) => id),
          );
        const look = styled(collection, entry.id)!;
        if (x.format === MAPBOX_STYLE_FORMAT)
          return sheet(x, JSON.stringify(collectionStyle(look, x.baseUrl)));
        if (x.format === SLD_FORMAT) return sheet(x, writeSld(look, styleDocument(look)).text);
        const diagnostics = collection.styles?.find(({ id }) => id === entry.id)?.diagnostics ?? [];
        return metadataReply(x, buildPath(collection), { ...entry, diagnostics: diagnostics }, STYLE_FORMATS);
      },
    }),
  ];
}

type Stylable = VectorCollection | RasterCollection;

function stylable(collection: Collection): Stylable {
  if (!isDrawable(collection)) throw withoutSurface('style of', collection);
  return collection;
}

function buildPath({ layerId }: Collection): string {
  return `${MAPS_PATH}/collections/${layerId}`;
}

function listEntries({ title, styles = [] }: Stylable): StyleEntry[] {
  return [{ id: DEFAULT_STYLE, title }, ...styles.map((one) => ({ id: one.id, title: one.title }))];
}

function sheet(x: Exchange, body: string) {
  const { mediaType } = x.format;
  return { status: 200, mediaType, body, etag: contentTag(body), cacheControl: 'no-cache' };
}

function stylesDocument(
  x: Exchange,
  path: string,
  entries: readonly StyleEntry[],
  formats: readonly Format[],
) {
  return {
    default: DEFAULT_STYLE,
    styles: entries.map((entry) => ({ ...entry, links: styleLinks(x, path, entry, formats) })),
    links: formatLinks(x, `${path}/styles`, META_FORMATS),
  };
}

function metadataReply(x: Exchange, path: string, entry: StyleEntry, formats: readonly Format[]) {
  const self = formatLinks(x, `${path}/styles/${encodeURIComponent(entry.id)}`, META_FORMATS, x.query);
  const document = { ...entry, links: [...self, ...styleLinks(x, path, entry, formats)] };
  return documentReply(x, document, () => pages.buildDocumentPage(x, entry.title, document));
}

const MAP = 'http://www.opengis.net/def/rel/ogc/1.0/map';

/** Links to a style in all its forms, and to the map in it. */
function styleLinks(x: Exchange, path: string, { id }: StyleEntry, formats: readonly Format[]): Link[] {
  const url = `${x.baseUrl}${path}/styles/${encodeURIComponent(id)}`;
  const sheets = formats.filter((format) => format !== HTML_FORMAT && format !== JSON_FORMAT);
  const map = path === MAPS_PATH ? `${x.baseUrl}${MAPS_PATH}/map` : `${url}/map`;
  return [
    ...sheets.map(({ name, mediaType }) => ({
      href: `${url}?f=${name}`,
      rel: 'stylesheet',
      type: mediaType,
      title: name === 'mapbox' ? 'MapLibre style' : 'SLD 1.1',
    })),
    { href: `${url}?f=json`, rel: 'describedby', type: 'application/json', title: 'Metadata' },
    { href: map, rel: MAP, type: 'image/png', title: 'Map in this style' },
  ];
}
