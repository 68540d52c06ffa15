import { describe, expect, it } from 'vitest';
import { esriFeature, sentFeature } from '../../src/core/geoservices/geoservices-features.js';
import { jsonTexts } from '../../src/core/values/json-text.js';
import { type UploadFacts, updateConflict } from '../../src/services/replicas/conflicts.js';
import {
  isStoredExactly,
  parseJsonValues,
  parseRowState,
  sameValue,
} from '../../src/services/replicas/states.js';

describe('states of conflicts', () => {
  it('keep the digits of numbers at every depth', () => {
    const b = '{"x":[1,9007199254740993,"1.10"],"y":null}';
    const properties = `{"a":12345678901234567890.1,"b":${b},"c":-0.12345678901234567891}`;
    const { attributes } = parseRowState({ properties, geometry: 'null' });
    expect(jsonTexts(attributes)).toEqual({ a: '12345678901234567890.1', b, c: '-0.12345678901234567891' });
    const sent = parseJsonValues({ a: '12345678901234567890.10', b: b.replace('[1,', '[1.0,') });
    expect(sameValue(sent['a'], attributes['a'], 'number')).toBe(true);
    expect(sameValue(sent['b'], attributes['b'], 'json')).toBe(true);
  });

  it('have the stored geometry only where nothing can have been rounded or computed', () => {
    const point = (...coordinates: number[]) => ({ type: 'Point', coordinates });
    const isExact = (geometry: unknown, crs = 'EPSG:4326', geometryType = 'Point') =>
      isStoredExactly({ crs, geometryType } as never, geometry);
    expect(isExact(null, 'EPSG:25832', 'Geometry')).toBe(true);
    expect(isExact(point(-122.4194, 37.7749, 12.5))).toBe(true);
    expect(isExact(point(-122.41945, 37.7749))).toBe(false);
    expect(isExact(point(7, 46, 5.1234568))).toBe(false);
    expect(isExact(point(7, 46), 'EPSG:25832')).toBe(false);
    expect(isExact(point(7, 46), 'EPSG:4326', 'Geometry')).toBe(false);
    expect(isExact(point(7, 46), 'EPSG:4326', 'MultiPoint')).toBe(false);
    const polygon = {
      type: 'Polygon',
      coordinates: [
        [
          [0, 0],
          [1, 0.0000001],
          [1, 1],
          [0, 0],
        ],
      ],
    };
    expect(isExact(polygon, 'EPSG:4326', 'Polygon')).toBe(false);
  });
});

it('features of replicas come back with the dates that they had', () => {
  const layer = {
    ...{ idColumn: 'id', geometryType: 'Point' as const, hasZ: false },
    fields: ['d', 't', 'n', 'x'].map((name) => ({
      ...{ name, nullable: true },
      type: name === 't' ? ('date-time' as const) : ('date' as const),
    })),
  };
  const properties = '{"d":"-000043-03-15","t":"-000043-03-15T00:00:00.000Z","n":20200101,"x":"2020/13/01"}';
  const { attributes } = esriFeature({ id: '1', idText: '1', geometry: 'null', properties }, layer, 4326);
  expect(attributes).toEqual({ id: 1, d: -63517824000000, t: -63517824000000, n: 20200101, x: '2020/13/01' });
  expect(sentFeature({ attributes }, layer).values).toMatchObject({
    ...{ d: '"-000043-03-15"', t: '"-000043-03-15T00:00:00.000Z"', x: '"2020/13/01"' },
  });
});

it('conflicts have the stored digits of numbers that came back as doubles', () => {
  const wide = '12345678901234567890.12345678901234567891';
  const collection = {
    id: 'c',
    source: { fields: [field('wide', 'number'), field('name', 'string')] },
  };
  const facts = { view: { layerId: 1, collection }, bounds: {}, crs: 'OGC:CRS84' } as unknown as UploadFacts;
  const image = (name: string, digits = wide) => ({
    attributes: `{"wide":${digits},"name":"${name}"}`,
    geometry: 'null',
  });
  const sent = { id: 1, values: { wide: String(Number(wide)), name: '"client"' }, geometry: undefined };
  const change = { id: '1', before: image('base'), after: image('server'), attributes: new Set(['name']) };
  const { body } = updateConflict(facts, sent, change as never)!;
  expect(body.fieldChanges.map(({ field }) => field)).toEqual(['name']);
  expect(body.edit.feature?.values).toEqual({ wide, name: '"client"' });
  // Both sides mean the same.
  expect(updateConflict(facts, sent, { ...change, after: image('client') } as never)).toBeUndefined();
});

const field = (name: string, type: string) => ({ name, type, nullable: true });
