declare module 'arcgis-pbf-parser' {
  import type { FeatureCollection } from 'geojson';

  export default function decode(bytes: Uint8Array): {
    featureCollection: FeatureCollection;
    exceededTransferLimit: boolean;
  };
}
