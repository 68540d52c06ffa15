import type { Operation } from '../../../core/operation.js';
import { notBuilt } from '../common.js';

const SERVICE = '/rest/services/{serviceId}';

/** Resources of each kind of server below its path; an empty name is its own document. */
const RESOURCES: readonly (readonly [path: string, names: string])[] = [
  [`${SERVICE}/FeatureServer`, 'append'],
  [`${SERVICE}/FeatureServer/{layerId}`, 'append calculate'],
  [`${SERVICE}/ImageServer`, 'measure'],
];

/** What of GeoServices clients may look for and is not there yet: 501, by GET and by POST. */
export function unbuiltOperations(): Operation[] {
  return RESOURCES.flatMap(([path, names]) =>
    names.split(' ').flatMap((name) => bothMethods(name === '' ? path : `${path}/${name}`)),
  );
}

function bothMethods(path: string): Operation[] {
  const name = path.slice(1).replaceAll(/[{}]/g, '').replaceAll('/', '.');
  return (['GET', 'POST'] as const).map((method) =>
    notBuilt({
      ...{
        surface: 'geoservices',
        protocol: 'FeatureServer',
        id: `geoservices.${method}.${name}`,
        method,
        path,
      },
      summary: path,
    }),
  );
}
