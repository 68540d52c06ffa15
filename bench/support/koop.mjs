import { createRequire } from 'node:module';
import { relative, resolve } from 'node:path';

/** Koop over the GeoJSON files of a folder: `node koop.mjs PORT FOLDER MODULES`. */
const [port, dataDir, modules] = process.argv.slice(2);
const require = createRequire(`${resolve(modules)}/package.json`);
const Koop = require('@koopjs/koop-core');
const koop = new Koop({ logLevel: 'error' });
koop.register(require('@koopjs/provider-file-geojson'), { dataDir: relative('.', dataDir) });
koop.server.get('/', (_request, response) => response.end('Koop'));
koop.server.listen(Number(port), '127.0.0.1');
