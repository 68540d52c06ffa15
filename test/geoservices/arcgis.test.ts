import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { drawings } from './arcgis/drawings.js';
import { readings } from './arcgis/readings.js';
import { services } from './arcgis/services.js';
import { shapes } from './arcgis/shapes.js';
import { openStage, type Stage } from './arcgis/stage.js';

/** Esri's own library, in one page and with one server. */

const stage = {} as Stage;

beforeAll(async () => {
  Object.assign(stage, await openStage());
}, 90_000);
afterAll(() => stage.close?.());
afterEach(() => {
  stage.sdk.requests.length = 0;
  expect(stage.sdk.problems.splice(0)).toEqual([]);
});

describe('ArcGIS Maps SDK', () => {
  drawings(stage);
  readings(stage);
  services(stage);
});
shapes(stage);
