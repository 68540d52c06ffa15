import { findCollection } from '../../core/catalog/find.js';
import { notFound } from '../../core/errors/errors.js';
import { contentTag } from '../../core/http/content-tag.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import { connectionXml } from '../pages/snippets/index.js';
import type { SurfaceDeps } from '../surface/common.js';

const COMMON = { method: 'GET', surface: 'site', protocol: 'Site', permission: 'public' } as const;

/** Links from the pages of collections to pages that are not part of a data interface. */
const PAGES_PATH = '/pages/collections/{collectionId}';

const collectionId = pathString('collectionId', 'Identifier of a collection.');

export function collectionPageOperations(deps: SurfaceDeps): Operation[] {
  return [connectionFile(deps)];
}

const file = pathString('file', 'qgis-features.xml, qgis-tiles.xml or qgis-vector-tiles.xml.');

function connectionFile({ visible }: SurfaceDeps): Operation {
  return defineOperation({
    ...COMMON,
    id: 'site.connectionFile',
    path: `${PAGES_PATH}/{file}`,
    summary: 'Connection of QGIS to a collection',
    params: { collectionId, file },
    responses: {
      200: { description: 'A file for the import dialog of QGIS.', content: { 'application/xml': null } },
      404: { description: 'The collection or its file does not exist.' },
    },
    run({ principal, baseUrl, params }) {
      const collection = findCollection(visible(principal), params.collectionId);
      const body = connectionXml({ baseUrl, collection }, params.file);
      if (body === undefined) throw notFound('file', params.file.slice(0, 100));
      return {
        status: 200,
        mediaType: 'application/xml; charset=utf-8',
        headers: { 'content-disposition': `attachment; filename="${params.file}"` },
        body,
        etag: contentTag(body),
        cacheControl: 'no-cache',
      };
    },
  });
}
