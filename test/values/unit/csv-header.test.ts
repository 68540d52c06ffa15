import { expect, it } from 'vitest';
import { csvHeader } from '../../../src/core/values/csv.js';

it.each([
  [['name'], 'id,geometry,name'],
  [['id', 'name'], 'feature_id,geometry,id,name'],
  [['ID', 'feature_id'], 'feature_id_,geometry,ID,feature_id'],
  [['Geometry', 'a,b'], 'id,geometry_,Geometry,"a,b"'],
])('the header of %j has each name once', (names, header) => {
  expect(csvHeader(names.map((name) => ({ name })))).toBe(`${header}\r\n`);
});
