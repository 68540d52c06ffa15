import Type from 'typebox';
import { isDrawable } from '../../core/catalog/abilities.js';
import { findNumbered } from '../../core/catalog/find.js';
import { withoutSurface } from '../../core/catalog/other-surfaces.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { pageLookParams } from '../../core/rasters/look-params.js';
import { pageLook } from '../../services/rasters/looks.js';
import * as pages from '../pages/index.js';
import { documentReply, META_FORMATS, otherTypes, type SurfaceDeps } from '../surface/common.js';
import { collectionsReply, finderParams } from '../surface/finder.js';
import { MemberTexts } from '../surface/member-texts.js';
import { mapCollectionDocument, mapListLinks } from './documents.js';
import { MAP_OPERATION, MAPS_PATH, mapCollectionParam } from './params.js';

const CONTENT = { 'application/json': Type.Object({}), ...otherTypes(META_FORMATS) };

/** The collections that have maps. */
export function mapCollectionOperations({ visible, places }: SurfaceDeps): Operation[] {
  const texts = new MemberTexts();
  return [
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getCollections',
      path: `${MAPS_PATH}/collections`,
      summary: 'Collections that have maps',
      params: finderParams,
      tag: 'Collections',
      formats: META_FORMATS,
      responses: { 200: { description: 'Collections', content: CONTENT } },
      run(x) {
        return collectionsReply(x, places, visible(x.principal).collections.filter(isDrawable), {
          texts,
          links: mapListLinks(x),
          describe: (collection) => mapCollectionDocument(x, collection),
        });
      },
    }),
    defineOperation({
      ...MAP_OPERATION,
      id: 'maps.getCollection',
      path: `${MAPS_PATH}/collections/{collectionId}`,
      summary: 'One collection',
      tag: 'Collections',
      params: { collectionId: mapCollectionParam, ...pageLookParams },
      formats: META_FORMATS,
      responses: {
        200: { description: 'Collection', content: CONTENT },
        404: { description: 'The collection does not exist or has no maps' },
      },
      run(x) {
        const catalog = visible(x.principal);
        const collection = findNumbered(catalog, x.params.collectionId);
        if (!isDrawable(collection)) throw withoutSurface('map of', collection);
        const document = mapCollectionDocument(x, collection);
        const look = pageLook(collection, x.params);
        const page = () => pages.buildCollectionPage(x, document, collection, { look });
        return documentReply(x, document, page);
      },
    }),
  ];
}
