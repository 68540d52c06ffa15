import { action, group, resource } from '../kit.js';

/** Zarr stores. */
export const zarrStores = group({ tag: 'Zarr stores', scope: 'zarr-stores', envelope: 'raw' }, [
  ...resource('/zarr-stores/{id}', {
    list: 'List Zarr Stores',
    create: 'Register Zarr Store',
    get: 'Get Zarr Store',
    remove: 'Unregister Zarr Store',
  }),
  action('POST /zarr-stores/{id}/refresh', 'Refresh Zarr Store Metadata'),
]);
