import type { RemoteField, RemoteLayer, RemoteService } from '../../../../core/exchange/ingest.js';
import type { Box } from '../../../../core/geometry/box.js';
import { normalizeEpsg } from '../../../../core/geometry/crs.js';
import { listJsonObjects, object, type RemoteJson, readJsonInteger, string } from '../json.js';

/** Services of GeoServices REST, by the JSON of their resources. */

const KIND = 'arcgis-geoservices-rest';

export function parseWkid(reference: unknown): number | undefined {
  const { latestWkid, wkid } = object(reference);
  const code = readJsonInteger(latestWkid) ?? readJsonInteger(wkid);
  return code === undefined ? undefined : normalizeEpsg(code);
}

/** The services that a folder of a catalog lists, and the folders in it. */
export function parseServiceCatalog(
  url: string,
  catalog: RemoteJson,
): { services: RemoteService[]; folders: string[] } {
  const root = url.replace(/(\/rest\/services).*$/i, '$1');
  const services = listJsonObjects(catalog['services']).flatMap((entry) => {
    const name = string(entry['name']);
    const type = string(entry['type']);
    if (!name || !type) return [];
    const folder = name.includes('/') ? { folder: name.slice(0, name.lastIndexOf('/')) } : {};
    return [{ kind: KIND, name, url: `${root}/${name}/${type}`, ...folder, layers: [] } as RemoteService];
  });
  const folders = Array.isArray(catalog['folders']) ? catalog['folders'].filter((one) => string(one)) : [];
  return { services, folders: folders as string[] };
}

/** A service with its layers and tables, as the resource of the service lists them. */
export function parseGeoService(url: string, resource: RemoteJson): RemoteService {
  const [, name = new URL(url).host] = /\/rest\/services\/(.+)\/\w+$/i.exec(url) ?? [];
  const srid = parseWkid(resource['spatialReference']);
  const listed = [...listJsonObjects(resource['layers']), ...listJsonObjects(resource['tables'])];
  return {
    kind: KIND,
    name,
    url,
    description: string(resource['serviceDescription']) ?? string(resource['description']),
    srid,
    maxRecordCount: readJsonInteger(resource['maxRecordCount']),
    layers: listed.flatMap((layer) => parseServiceLayer(layer, srid)),
  };
}

/** Returns a layer from its entry in the service's list or from its own resource. */
export function parseServiceLayer(resource: RemoteJson, srid: number | undefined): RemoteLayer[] {
  const layerId = readJsonInteger(resource['id']);
  const name = string(resource['name']);
  if (layerId === undefined || name === undefined) return [];
  return [
    {
      kind: KIND,
      name,
      layerId,
      description: string(resource['description']),
      layerType: string(resource['type']),
      geometryType: string(resource['geometryType']),
      hasAttachments: resource['hasAttachments'] === true,
      srid: parseWkid(object(resource['extent'])['spatialReference']) ?? srid,
      extent: parseExtent(object(resource['extent'])),
      fields: listJsonObjects(resource['fields']).flatMap(readField),
    },
  ];
}

function readField(field: RemoteJson): RemoteField[] {
  const name = string(field['name']);
  if (name === undefined) return [];
  const alias = string(field['alias']);
  const type = string(field['type']);
  const length = readJsonInteger(field['length']);
  return [
    {
      name,
      ...(alias === undefined ? {} : { alias }),
      ...(type === undefined ? {} : { type }),
      ...(length === undefined ? {} : { length }),
      ...(typeof field['nullable'] === 'boolean' ? { nullable: field['nullable'] } : {}),
    },
  ];
}

function parseExtent(extent: RemoteJson): RemoteLayer['extent'] {
  const box = ['xmin', 'ymin', 'xmax', 'ymax'].map((side) => extent[side]);
  const srid = parseWkid(extent['spatialReference']);
  return srid !== undefined && box.every(Number.isFinite) ? { box: box as unknown as Box, srid } : undefined;
}
