import { action, group, resource } from '../kit.js';

/** Rasters in object stores. */
export const cloudRasters = group({ tag: 'Cloud rasters', scope: 'cloud-rasters', envelope: 'raw' }, [
  ...resource('/cloud-rasters/{id}', {
    list: 'List Cloud Rasters',
    create: 'Register Cloud Raster',
    get: 'Get Cloud Raster',
    remove: 'Unregister Cloud Raster',
  }),
  action('POST /cloud-rasters/{id}/refresh', 'Refresh Cloud Raster Metadata'),
]);
