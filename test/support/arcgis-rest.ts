import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { linkPackages } from './saved-page.js';

const PACKAGES = [
  ...['request', 'fetch', 'form-data', 'portal', 'feature-service', 'geocoding'].map(
    (name) => `@esri/arcgis-rest-${name}`,
  ),
  ...['@terraformer/arcgis', '@terraformer/common', 'mitt', 'pbf', 'tslib'],
];

/** Esri's client for programs (ArcGIS REST JS), bundled into a folder. */
export async function arcgisRest(folder: string) {
  linkPackages(PACKAGES, join(folder, 'packages'));
  const outfile = join(folder, 'client.mjs');
  await build({
    ...{ entryPoints: ['test/geoservices/pages/arcgis-rest.js'], outfile, bundle: true, format: 'esm' },
    ...{ platform: 'browser', logLevel: 'error', nodePaths: [join(folder, 'packages'), 'node_modules'] },
  });
  return import(pathToFileURL(outfile).href);
}
