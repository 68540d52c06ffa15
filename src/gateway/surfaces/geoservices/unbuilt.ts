import Type from 'typebox';
import type { Operation } from '../../../core/operation.js';
import { notBuilt } from '../common.js';
import { inBandFailure } from './in-band.js';
import { withCallback } from './jsonp.js';

const FAILURE = {
  200: {
    description: 'A member error whose code is 501',
    content: { 'application/json': Type.Object({ error: Type.Object({ code: Type.Integer() }) }) },
  },
};

const SERVICE = '/rest/services/{serviceId}';

/** Resources of each kind of server below its path; an empty name is its own document. */
const RESOURCES: readonly (readonly [path: string, names: string])[] = [
  [`${SERVICE}/FeatureServer`, 'append'],
  [`${SERVICE}/FeatureServer/{layerId}`, 'append calculate'],
  [`${SERVICE}/ImageServer`, 'measure'],
];

/** What of GeoServices clients may look for and is not there yet: 501 in band, by GET and by POST. */
export function unbuiltOperations(): Operation[] {
  return RESOURCES.flatMap(([path, names]) =>
    names.split(' ').flatMap((name) => bothMethods(name === '' ? path : `${path}/${name}`)),
  );
}

function bothMethods(path: string): Operation[] {
  const name = path.slice(1).replaceAll(/[{}]/g, '').replaceAll('/', '.');
  const [, server = '', verb = ''] = /(\w+Server)(?:\/\{layerId\})?\/(\w+)$/.exec(path) ?? [];
  return (['GET', 'POST'] as const).map((method) => ({
    ...notBuilt({
      ...{
        surface: 'geoservices',
        protocol: 'FeatureServer',
        id: `geoservices.${method}.${name}`,
        method,
        path,
      },
      summary: path,
    }),
    ...{ responses: FAILURE, failure: inBandFailure(server, verb), present: withCallback },
  }));
}
