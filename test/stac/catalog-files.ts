import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** STAC catalogs on disk, as other programs write them. */

export const square = (west: number, south: number, side: number) => ({
  type: 'Polygon',
  coordinates: [
    [
      [west, south],
      [west + side, south],
      [west + side, south + side],
      [west, south + side],
      [west, south],
    ],
  ],
});

/** The n-th item of a grid over the world: a degree wide, a day apart, its cloud cover 0 to 99. */
export function gridItem(n: number, more: object = {}) {
  const west = (n % 360) - 180;
  const south = (Math.floor(n / 360) % 170) - 85;
  const day = new Date(Date.UTC(2000, 0, 1) + n * 86_400_000).toISOString();
  return {
    type: 'Feature',
    stac_version: '1.0.0',
    id: `item-${n}`,
    geometry: square(west, south, 1),
    bbox: [west, south, west + 1, south + 1],
    properties: {
      datetime: day,
      platform: n % 2 === 0 ? 'even' : 'odd',
      mission: 'sentinel-grid',
      gsd: 10,
      instruments: ['msi'],
      'eo:cloud_cover': n % 100,
    },
    links: [{ rel: 'self', href: `https://example.org/${n}` }],
    assets: { data: { href: `https://example.org/${n}.tif`, type: 'image/tiff' } },
    ...more,
  };
}

function write(path: string, document: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document));
}

const link = (rel: string, href: string) => ({ rel, href });

/** A tree with a collection of two scenes, one of them with a local file, and with everything that is wrong. */
export function writeTree(folder: string): void {
  write(join(folder, 'catalog.json'), {
    type: 'Catalog',
    stac_version: '1.0.0',
    id: 'root',
    description: 'Scenes',
    links: [
      link('root', './catalog.json'),
      link('child', './scenes/collection.json'),
      link('child', 'https://example.org/catalog.json'),
      link('child', 'http://169.254.169.254/latest/meta-data'),
      link('child', '../outside.json'),
      link('child', 'file:///etc/passwd'),
      link('child', './gone.json'),
    ],
  });
  const scenes = join(folder, 'scenes');
  write(join(scenes, 'collection.json'), {
    type: 'Collection',
    stac_version: '1.0.0',
    id: 'Scenes of Mars',
    title: 'Scenes',
    description: 'Two scenes',
    license: 'CC-BY-4.0',
    keywords: ['mars'],
    extent: { spatial: { bbox: [[0, 0, 20, 10]] }, temporal: { interval: [['2020-01-01T00:00:00Z', null]] } },
    links: [
      link('parent', '../catalog.json'),
      // A circle.
      link('child', '../catalog.json'),
      ...['a', 'b', 'broken', 'undated', 'ring', 'secret', 'again'].map((name) =>
        link('item', `./${name}.json`),
      ),
    ],
  });
  const item = (id: string, more: object) => gridItem(0, { id, collection: 'Scenes of Mars', ...more });
  write(
    join(scenes, 'a.json'),
    item('a', {
      geometry: square(0, 0, 10),
      assets: {
        data: { href: './a.tif', type: 'image/tiff' },
        outside: { href: '../../outside.txt' },
        link: { href: './link.txt' },
        script: { href: 'javascript:alert(1)' },
        remote: { href: 's3://bucket/a.tif' },
      },
      links: [
        link('self', './a.json'),
        link('derived_from', 'https://example.org/a'),
        link('about', 'javascript:alert(1)'),
      ],
    }),
  );
  write(join(scenes, 'b.json'), item('b', { geometry: square(10, 0, 10) }));
  write(join(scenes, 'broken.json'), '{"type": "Feature", "stac_version"');
  write(join(scenes, 'undated.json'), item('undated', { properties: { datetime: null } }));
  write(join(scenes, 'ring.json'), item('ring', { geometry: { type: 'Polygon', coordinates: [[[0, 0]]] } }));
  write(join(scenes, 'again.json'), item('a', {}));
  write(join(scenes, 'a.tif'), 'the pixels of a');
  write(join(folder, '..', 'outside.txt'), 'a secret');
  write(join(folder, '..', 'outside.json'), item('outside', {}));
  symlinkSync(join(folder, '..', 'outside.txt'), join(scenes, 'link.txt'));
  symlinkSync(join(folder, '..', 'outside.json'), join(scenes, 'secret.json'));
}
