import type { Feature, Position } from 'geojson';
import { describe, expect, it } from 'vitest';
import {
  agreement,
  type Box,
  colourAt,
  difference,
  HEIGHT,
  inkBox,
  inkShare,
  type Picture,
  pictureOf,
  pixelBox,
  WIDTH,
} from './pictures.js';
import { type Json, MERCATOR, type Stage } from './stage.js';

const EUROPE: Box = [-2_000_000, 4_000_000, 6_000_000, 10_000_000];
const OLINDA: Box = [-3_890_000, -900_000, -3_874_000, -888_000];

/** Layers of all sorts are drawn where OGC API Maps draws them. */
export function drawings(stage: Stage): void {
  const draw = async (type: string, properties: Json, window: Box): Promise<Picture & { bbox: Box }> => {
    const { picture, bbox } = await stage.sdk.call('draw', type, properties, window);
    return { ...(await pictureOf(Buffer.from(picture, 'base64'))), bbox };
  };

  /** The window as OGC API Maps draws it; it is neither blank nor full. */
  async function mapOf(collections: string[], bbox: Box): Promise<Picture> {
    const query = new URLSearchParams({
      ...{ collections: collections.join(), f: 'png', bbox: bbox.join(), 'bbox-crs': MERCATOR },
      ...{ crs: MERCATOR, width: `${WIDTH}`, height: `${HEIGHT}` },
    });
    const response = await fetch(`${stage.server.url}/ogc/maps/map?${query}`);
    expect(response.headers.get('content-type')).toBe('image/png');
    const picture = await pictureOf(Buffer.from(await response.arrayBuffer()));
    expect(Math.abs(inkShare(picture) - 0.5)).toBeLessThan(0.3);
    return picture;
  }

  describe('draws', () => {
    it('a map service as one picture', async () => {
      const sublayers = [{ id: stage.numbers['countries'] }];
      const picture = await draw('MapImageLayer', { url: stage.mapService, sublayers }, EUROPE);
      const map = await mapOf(['countries'], picture.bbox);
      expect(agreement(picture, map)).toBeGreaterThan(0.995);
      expect(difference(picture, map)).toBeLessThan(1);
    });

    it('sublayers with conditions and renderers of the client', async () => {
      const symbol = { type: 'simple-fill', color: [255, 0, 0, 1], outline: null };
      const renderer = { type: 'simple', symbol };
      const sublayers = [{ id: stage.numbers['countries'], definitionExpression: "iso_a2 = 'DE'", renderer }];
      const picture = await draw('MapImageLayer', { url: stage.mapService, sublayers }, EUROPE);
      const [germany] = await stage.itemsOf('countries', `&filter=iso_a2='DE'&crs=${MERCATOR}`);
      const [left, top, right, bottom] = pixelBox(boundsOf(germany!), picture.bbox);
      expect(inkBox(picture)).toEqual([left, top, right, bottom].map((one) => near(one)));
      const middle = Math.round((top + bottom) / 2) * WIDTH + Math.round((left + right) / 2);
      expect(colourAt(picture, middle)).toEqual([255, 0, 0]);
    });

    it.each([
      ['TileLayer', 'MapServer'],
      ['VectorTileLayer', 'VectorTileServer'],
    ])('tiles by a %s', async (type, server) => {
      const picture = await draw(type, { url: `${stage.services}/default/${server}` }, EUROPE);
      const tiles = stage.sdk.requests.filter(({ pathname }) => pathname.includes(`${server}/tile/`));
      expect(tiles.length).toBeGreaterThan(1);
      const map = await mapOf(['countries', 'disputed_borders', 'stations'], picture.bbox);
      expect(agreement(picture, map)).toBeGreaterThan(0.98);
      expect(difference(picture, map)).toBeLessThan(4);
    });

    it('an image service', async () => {
      const picture = await draw('ImageryLayer', { url: stage.imageService }, OLINDA);
      const map = await mapOf(['olinda_dem_utm25s'], picture.bbox);
      expect(agreement(picture, map)).toBeGreaterThan(0.995);
      expect(difference(picture, map)).toBeLessThan(1);
    });

    it('an image service by a rendering rule', async () => {
      const functionArguments = { Azimuth: 315, Altitude: 45, ZFactor: 1 };
      const rasterFunction = { functionName: 'Hillshade', functionArguments };
      const picture = await draw('ImageryLayer', { url: stage.imageService, rasterFunction }, OLINDA);
      const map = await mapOf(['olinda_dem_utm25s'], picture.bbox);
      expect(inkBox(picture)).toEqual(inkBox(map).map(near));
      expect(difference(picture, map)).toBeGreaterThan(20);
      const isGrey = picture.ink.map((_, i) => new Set(colourAt(picture, i)).size === 1);
      expect(isGrey).not.toContain(false);
    });

    it('an image service as WCS, whose values the client colours', async () => {
      const picture = await draw('WCSLayer', { url: `${stage.imageService}/WCSServer` }, OLINDA);
      expect(inkBox(picture)).toEqual(inkBox(await mapOf(['olinda_dem_utm25s'], picture.bbox)).map(near));
      // The client asks for values and metadata in one body, and would tell of it if it had to go on without.
      expect(stage.sdk.problems.splice(0)).toEqual([]);
    });
  });
}

/** Within two pixels. */
const near = (pixel: number) => expect.closeTo(pixel, -0.6);

function boundsOf({ geometry }: Feature): Box {
  const positions = (geometry as Json).coordinates.flat(2) as Position[];
  const [x, y] = [positions.map(([east]) => east!), positions.map(([, north]) => north!)];
  return [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)];
}
