import type { RemoteField, RemoteLayer, RemoteService } from '../../../../core/exchange/ingest.js';
import type { Box } from '../../../../core/geometry/box.js';
import { epsgOf } from '../../../../core/geometry/crs.js';
import { integer, type Json, object, objects, string } from '../json.js';

/** Services of GeoServices REST, by the JSON of their resources. */

const KIND = 'arcgis-geoservices-rest';

export function wkidOf(reference: unknown): number | undefined {
  const { latestWkid, wkid } = object(reference);
  const code = integer(latestWkid) ?? integer(wkid);
  return code === undefined ? undefined : epsgOf(code);
}

/** The services that a folder of a catalog lists, and the folders in it. */
export function entriesOf(url: string, catalog: Json): { services: RemoteService[]; folders: string[] } {
  const root = url.replace(/(\/rest\/services).*$/i, '$1');
  const services = objects(catalog['services']).flatMap((entry) => {
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
export function serviceOf(url: string, resource: Json): RemoteService {
  const [, name = new URL(url).host] = /\/rest\/services\/(.+)\/\w+$/i.exec(url) ?? [];
  const srid = wkidOf(resource['spatialReference']);
  const listed = [...objects(resource['layers']), ...objects(resource['tables'])];
  return {
    kind: KIND,
    name,
    url,
    description: string(resource['serviceDescription']) ?? string(resource['description']),
    srid,
    maxRecordCount: integer(resource['maxRecordCount']),
    layers: listed.flatMap((layer) => layerOf(layer, srid)),
  };
}

/** A layer, of the list of its service or of its own resource. */
export function layerOf(resource: Json, srid: number | undefined): RemoteLayer[] {
  const layerId = integer(resource['id']);
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
      srid: wkidOf(object(resource['extent'])['spatialReference']) ?? srid,
      extent: extentOf(object(resource['extent'])),
      fields: objects(resource['fields']).flatMap(fieldOf),
    },
  ];
}

function fieldOf(field: Json): RemoteField[] {
  const name = string(field['name']);
  if (name === undefined) return [];
  const alias = string(field['alias']);
  const type = string(field['type']);
  const length = integer(field['length']);
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

function extentOf(extent: Json): RemoteLayer['extent'] {
  const box = ['xmin', 'ymin', 'xmax', 'ymax'].map((side) => extent[side]);
  const srid = wkidOf(extent['spatialReference']);
  return srid !== undefined && box.every(Number.isFinite) ? { box: box as unknown as Box, srid } : undefined;
}
