import Type from 'typebox';
import { notFound } from '../../core/errors/errors.js';
import { OWN_CRS_PATH } from '../../core/geometry/crs.js';
import { contentTag } from '../../core/http/content-tag.js';
import type { Format } from '../../core/http/media.js';
import { defineOperation, type Operation } from '../../core/http/operation.js';
import { pathString } from '../../core/http/params.js';
import { ownCrsById } from '../../native/crs.js';
import { describeCrs } from '../../native/index.js';

const WKT: Format = { name: 'wkt', mediaType: 'text/plain; charset=utf-8', aliases: ['wkt2'] };
const PROJJSON: Format = {
  name: 'json',
  mediaType: 'application/projjson+json',
  aliases: ['projjson'],
  accepts: ['application/json'],
};

/** The definition of a CRS without an EPSG code, at its URI, as WKT 2 or PROJJSON. */
export function crsOperation(): Operation {
  return defineOperation({
    method: 'GET',
    surface: 'site',
    protocol: 'Site',
    permission: 'public',
    id: 'site.getCrs',
    path: `${OWN_CRS_PATH}/{crsId}`,
    summary: 'Definition of a coordinate reference system that published data brings along',
    params: { crsId: pathString('crsId', 'The last part of the URI of the CRS.') },
    formats: [WKT, PROJJSON],
    responses: {
      200: {
        description: 'WKT 2:2019 or PROJJSON',
        content: { 'text/plain': null, [PROJJSON.mediaType]: Type.Object({}) },
      },
      404: { description: 'No published data has this CRS' },
    },
    run(x) {
      const crs = ownCrsById(x.params.crsId);
      if (!crs) throw notFound('coordinate reference system', x.params.crsId.slice(0, 40));
      const { wkt, projjson } = describeCrs(crs.proj);
      const body = x.format === PROJJSON ? projjson : wkt;
      if (!body) throw notFound('PROJJSON of', x.params.crsId);
      return {
        status: 200,
        mediaType: x.format.mediaType,
        body,
        etag: contentTag(body),
        cacheControl: 'no-cache',
      };
    },
  });
}
