import { expect, it } from 'vitest';
import type { Collection } from '../../src/core/catalog/collection.js';
import type { Box } from '../../src/core/geometry/box.js';
import { PNG_FORMAT } from '../../src/core/http/media.js';
import { datetimeParam } from '../../src/core/http/params.js';
import type { MosaicMember, RasterImageTask } from '../../src/core/rasters/rasters.js';
import { RASTER_STYLE } from '../../src/core/styles/default-style.js';
import type { Pools } from '../../src/core/tasks/tasks.js';
import { WEB_MERCATOR_QUAD } from '../../src/core/tiles/tile-matrix.js';

import { tileReply } from '../../src/gateway/surface/tile-reply.js';
import { makeTile } from '../../src/services/tiles/make.js';
import { narrowTile } from '../../src/services/tiles/plan.js';
import { tileKey } from '../../src/services/tiles/request.js';

const member = (id: string, extent84: Box, acquired: string): MosaicMember => ({
  id,
  source: { kind: 'file', path: `/data/${id}.tif` },
  extent84,
  acquired,
});

const scenes = {
  kind: 'raster',
  id: 'scenes',
  version: 'v',
  bands: [],
  style: RASTER_STYLE,
  raster: {
    extent84: [-90, 0, 90, 60],
    source: {
      kind: 'mosaic',
      members: [
        member('old-west', [-90, 0, -1, 60], '2020-05-01T10:00:00Z'),
        member('old-east', [1, 0, 90, 60], '2020-05-01T10:00:00Z'),
        member('new-east', [1, 0, 90, 60], '2021-05-01T10:00:00Z'),
      ],
    },
  },
} as unknown as Collection;

const at = { set: WEB_MERCATOR_QUAD, zoom: 1, row: 0, column: 1 };
const asked = {
  subset: undefined,
  filter: undefined,
  filterLang: 'cql2-text',
  filterCrs: undefined,
  properties: undefined,
} as const;
const requestAt = (datetime: string | undefined) =>
  narrowTile([scenes], at, PNG_FORMAT, { ...asked, datetime: datetimeParam.parse(datetime) });

it('a tile of a time is drawn from the newest batch, names its items, and has a key of its own', async () => {
  const read: RasterImageTask[] = [];
  const pools = {
    run: async (_: string, task: RasterImageTask) => {
      read.push(task);
      return { tiles: [{ data: new Uint8Array([1]), empty: false }], mediaType: 'image/png' };
    },
  } as unknown as Pools;
  const until2020 = requestAt('../2020-12-31');
  const tile = await makeTile({ timing: () => {} }, pools, until2020);
  expect(tileReply(tile).headers).toEqual({
    'graticule-acquired': '2020-05-01T10:00:00.000Z',
    'graticule-source-items': 'scenes/old-east',
  });
  expect(read[0]!.source).toMatchObject({ kind: 'mosaic', members: [{ id: 'old-east' }] });
  const keys = ['../2020-12-31', '2020-05-01', '../..', undefined].map((time) => tileKey(requestAt(time)));
  expect(keys[0]).toBe(keys[1]);
  expect(new Set(keys).size).toBe(3);
});

it('a tile of a time at which nothing was acquired is empty', async () => {
  const request = requestAt('2019-01-01');
  expect(request.collections).toEqual([]);
  const { body, mediaType, empty } = await makeTile({ timing: () => {} }, {} as Pools, request);
  expect([body !== undefined, mediaType, empty]).toEqual([true, 'image/png', true]);
});
