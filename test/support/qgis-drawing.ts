import { expect } from 'vitest';
import { run } from '../e2e/support/http.js';

/** QGIS draws a layer of a WMS or WMTS in Web Mercator, and there is something in the middle of Germany. */
export async function expectDrawnByQgis(home: string, uri: URLSearchParams): Promise<void> {
  const text = await run(
    '/usr/bin/python3',
    ['test/geoservices/ogc/draw_wms_with_qgis.py', `${uri}`, '1113194', '6446275'],
    { HOME: home, QT_QPA_PLATFORM: 'offscreen' },
  );
  const read = JSON.parse(text.trim().split('\n').at(-1)!);
  expect(read.crs).toBe('EPSG:3857');
  expect(read.middle[3]).toBeGreaterThan(50);
}
