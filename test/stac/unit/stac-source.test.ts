import { describe, expect, it } from 'vitest';
import { stacSource } from '../../../src/core/stac/stac-source.js';

const API = 'stac+https://stac.example.org/v1?collections=scenes&asset=data';

describe('a source that is a STAC API', () => {
  it('has settings in its query', () => {
    const query = 'items=7&refresh=60&merge=median&bands=3,1&bbox=-10,40,10,50&crs=epsg:3857&name=Mine';
    expect(stacSource(`${API}&${query}&datetime=2024-01-01T00:00:00Z/..&filter=a%20=%201`)).toEqual({
      ...{ address: expect.any(String), url: 'https://stac.example.org/v1', name: 'Mine' },
      ...{ collections: ['scenes'], assets: ['data'], bands: [3, 1], bbox: [-10, 40, 10, 50] },
      ...{ datetime: '2024-01-01T00:00:00Z/..', filter: 'a = 1', merge: 'median', crs: 'EPSG:3857' },
      ...{ maxScenes: 7, refreshMs: 60_000, search: 'static', credentials: 'none' },
    });
  });

  it.each([
    ['2024-01-01', '2024-01-01T00:00:00Z/2024-01-01T23:59:59.999Z'],
    ['2024-01-01/2024-01-31', '2024-01-01T00:00:00Z/2024-01-31T23:59:59.999Z'],
    ['../2024-01-31', '../2024-01-31T23:59:59.999Z'],
    ['2024-01-01/..', '2024-01-01T00:00:00Z/..'],
    ['2024-01-01T10:00:00Z', '2024-01-01T10:00:00Z'],
    ['2024-01-01T10:00:00Z/2024-01-02T10:00:00Z', '2024-01-01T10:00:00Z/2024-01-02T10:00:00Z'],
  ])('of %s is of whole days where no times are said', (datetime, expected) => {
    expect(stacSource(`${API}&datetime=${datetime}`).datetime).toBe(expected);
  });

  it.each([
    ['stac+https://stac.example.org/v1', /asset: is required, or assets/],
    ['stac+https://stac.example.org/v1?asset=data', /collections: must/],
    ['stac+https://user:secret@stac.example.org/v1?asset=data', /must not have credentials/],
    ['stac+https://?asset=data', /not a URL/],
    [`${API}&assets=red,green`, /asset: cannot be combined with assets/],
    [`${API}&colour=red`, /colour: is not a setting/],
    [`${API}&__proto__=red`, /__proto__: is not a setting/],
    [`${API}&asset=again`, /asset: is given twice/],
    [`${API}&items=0`, /items: must be/],
    [`${API}&items=1e9`, /items: must be/],
    [`${API}&search=window&items=251`, /items: must be at most 250 if search is window/],
    [`${API}&credentials=secret`, /credentials: must be/],
    [`${API}&merge=sum`, /merge: must be one of/],
    [`${API}&bands=0`, /bands: must be/],
    [`${API}&bbox=10,50,5`, /bbox: must be/],
    [`${API}&crs=+proj=utm`, /crs: must be/],
    [`${API}&datetime=yesterday`, /datetime: must be/],
    [`${API}&datetime=2024-01-01/2024-01-02/2024-01-03`, /datetime: must be/],
    [`${API}&filter=a%20=`, /filter/],
    [`${API}&name=`, /name: must/],
  ])('such as %s is refused with its reason', (address, reason) => {
    expect(() => stacSource(address)).toThrow(
      expect.objectContaining({ code: 'invalid-input', message: expect.stringMatching(reason) }),
    );
  });
});
