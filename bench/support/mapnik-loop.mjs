// Mapnik alone: the layer in memory as GeoJSON, its map drawn and encoded for each window that the parent sends.
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import mapnik from '@mapnik/mapnik';

const [file, fill, line] = process.argv.slice(2);
mapnik.register_default_input_plugins();
const xml = `<Map srs="epsg:4326"><Style name="s"><Rule><PolygonSymbolizer fill="${fill}"/><LineSymbolizer stroke="${line}" stroke-width="1" stroke-linejoin="round" stroke-linecap="round"/></Rule></Style><Layer name="l" srs="epsg:4326"><StyleName>s</StyleName><Datasource><Parameter name="type">geojson</Parameter><Parameter name="file">${file}</Parameter><Parameter name="cache_features">true</Parameter></Datasource></Layer></Map>`;
const map = new mapnik.Map(512, 512);
map.fromStringSync(xml, { strict: true });
readFileSync(file);

process.on('message', async ({ boxes, side }) => {
  const before = process.cpuUsage();
  let bytes = 0;
  for (const box of boxes) {
    map.resize(side, side);
    map.zoomToBox(box);
    const image = new mapnik.Image(side, side);
    await promisify(map.render.bind(map))(image, { buffer_size: 16 });
    bytes += (await promisify(image.encode.bind(image))('png32:z=2')).length;
  }
  const { user, system } = process.cpuUsage(before);
  process.send({ cpuMs: (user + system) / 1000, bytes });
});
process.send('ready');
