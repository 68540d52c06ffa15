import { expect, it } from 'vitest';
import { createEsriField, esriValue } from '../../../src/core/geoservices/geoservices-features.js';
import type { Field } from '../../../src/core/sources/vector-source.js';

/** Types of fields as clients before 11.2 know them. */

it.each<[Pick<Field, 'type' | 'bits'>, string]>([
  [{ type: 'integer', bits: 16 }, 'SmallInteger'],
  [{ type: 'integer', bits: 32 }, 'Integer'],
  [{ type: 'integer' }, 'BigInteger'],
  [{ type: 'number', bits: 32 }, 'Single'],
  [{ type: 'number' }, 'Double'],
  [{ type: 'date' }, 'Date'],
  [{ type: 'date-time' }, 'Date'],
  [{ type: 'boolean' }, 'SmallInteger'],
])('%j is a field of the type %s', (field, type) => {
  expect(createEsriField({ name: 'a', nullable: true, ...field }).type).toBe(`esriFieldType${type}`);
});

it('days are milliseconds at midnight in UTC', () => {
  expect(esriValue('2020-02-29', 'date')).toBe(Date.UTC(2020, 1, 29));
  expect(esriValue(null, 'date')).toBeNull();
});
