import { action, group, report } from '../kit.js';

/** Geocoding providers and reference data. */
export const geocoding = group({ tag: 'Geocoding', scope: 'geocoding', envelope: 'wrapped' }, [
  report('GET /geocoding/providers', 'Get Geocoding Providers'),
  action('POST /geocoding/reference-data/import', 'Import Geocoder Reference Data'),
]);
