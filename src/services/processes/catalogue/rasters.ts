import Type from 'typebox';
import { badParameter } from '../../../core/errors/errors.js';
import type { RasterProcess } from '../../../core/rasters/raster-processes.js';
import { resolveCrs } from '../../../native/crs.js';
import type { InputDefinition, ProcessDefinition, RasterFacts } from '../definition.js';
import { getNumberInput, makeOptional } from './parts.js';
import {
  defineNumberInput,
  diagonalsInput,
  getResampling,
  rasterProcess,
  resamplingInput,
} from './raster-parts.js';

/** Processes of rasters, by GDAL. */

const zFactor = defineNumberInput('Z factor', 'Heights are multiplied by it.', {
  minimum: 0.000001,
  maximum: 1e9,
  default: 1,
});

/** Metres of a unit along a meridian, for heights in metres; what GDAL takes for degrees. */
const buildScale = ({ crs }: RasterFacts) => [
  '-s',
  String(crs.isGeographic ? 111_120 : 1 / crs.metresPerUnit),
];

/** What the usual refraction of light leaves, 6/7. */
const CURVATURE = 0.857_14;

const hillshade = rasterProcess({
  id: 'surface.hillshade',
  title: 'Hillshade',
  description: 'Shaded relief, from 1 (dark) to 255 (bright), of heights in metres.',
  inputs: {
    azimuth: defineNumberInput('Azimuth', 'Where the light comes from, in degrees from north.', {
      minimum: 0,
      maximum: 360,
      default: 315,
    }),
    altitude: defineNumberInput('Altitude', 'Height of the light, in degrees.', {
      minimum: 0,
      maximum: 90,
      default: 45,
    }),
    zFactor,
  },
  plan: (values, facts) => ({
    kind: 'terrain',
    mode: 'hillshade',
    options: [
      ...[
        '-az',
        String(getNumberInput(values, 'azimuth', 315)),
        '-alt',
        String(getNumberInput(values, 'altitude', 45)),
      ],
      ...['-z', String(getNumberInput(values, 'zFactor', 1)), ...buildScale(facts)],
    ],
  }),
});

const slope = rasterProcess({
  id: 'surface.slope',
  title: 'Slope',
  description: 'Steepness of heights in metres, in degrees or per cent.',
  inputs: {
    units: makeOptional({
      title: 'Units',
      description: 'degrees, or percent.',
      schema: Type.String({ enum: ['degrees', 'percent'], default: 'degrees' }),
    }),
    zFactor,
  },
  plan(values, facts) {
    // GDAL knows no factor for heights here: horizontal lengths are divided by it.
    const [flag, scale] = buildScale(facts);
    const units = values['units'] === 'percent' ? ['-p'] : [];
    return {
      kind: 'terrain',
      mode: 'slope',
      options: [...units, flag!, String(Number(scale) / getNumberInput(values, 'zFactor', 1))],
    };
  },
});

const plain = (
  id: string,
  mode: Extract<RasterProcess, { kind: 'terrain' }>['mode'],
  title: string,
  description: string,
) => rasterProcess({ id, title, description, plan: () => ({ kind: 'terrain', mode, options: [] }) });

const height = (title: string, description: string, usual: number) =>
  defineNumberInput(title, description, { minimum: 0, maximum: 1e6, default: usual });

const viewshed = rasterProcess({
  id: 'surface.viewshed',
  title: 'Viewshed',
  description:
    'What can be seen from a place: 1, or 0 where something hides it. Heights are in the unit of the CRS, which is a projected one.',
  inputs: {
    observerX: {
      title: 'X of the observer',
      description: 'In the CRS of the raster.',
      schema: Type.Number(),
    },
    observerY: {
      title: 'Y of the observer',
      description: 'In the CRS of the raster.',
      schema: Type.Number(),
    },
    observerHeight: height('Height of the observer', 'Above the ground.', 2),
    targetHeight: height('Height of what is looked for', 'Above the ground.', 0),
    maxDistance: defineNumberInput(
      'Greatest distance',
      'Pixels farther away have no value; none when absent.',
      {
        minimum: 1e-6,
        maximum: 1e9,
      },
    ),
    curvature: defineNumberInput(
      'Curvature',
      'Share of the curvature of the Earth that refraction leaves; 0 for a plane.',
      {
        minimum: 0,
        maximum: 1,
        default: CURVATURE,
      },
    ),
  },
  plan(values, { crs }) {
    if (crs.isGeographic)
      throw badParameter('/inputs/raster', 'must be in a projected CRS. Reproject it first');
    const maxDistance = values['maxDistance'] as number | undefined;
    return {
      kind: 'viewshed',
      x: getNumberInput(values, 'observerX'),
      y: getNumberInput(values, 'observerY'),
      observerHeight: getNumberInput(values, 'observerHeight', 2),
      targetHeight: getNumberInput(values, 'targetHeight'),
      ...(maxDistance === undefined ? {} : { maxDistance }),
      curvature: getNumberInput(values, 'curvature', CURVATURE),
    };
  },
});

const contour = rasterProcess({
  id: 'surface.contour',
  title: 'Contours',
  description: 'Lines of equal value, with the attribute elevation.',
  inputs: {
    interval: {
      title: 'Interval',
      description: 'Difference of the values of two lines.',
      schema: Type.Number({ minimum: 0.000001, maximum: 1e9 }),
    },
    base: defineNumberInput('Base', 'A value that would have a line.', {
      minimum: -1e9,
      maximum: 1e9,
      default: 0,
    }),
  },
  output: 'features',
  plan: (values) => ({
    kind: 'contour',
    interval: getNumberInput(values, 'interval'),
    base: getNumberInput(values, 'base'),
  }),
});

const polygonize = rasterProcess({
  id: 'raster.polygonize',
  title: 'Areas of equal value',
  description:
    'A polygon for each area of equal value, with the attribute value; pixels without data have none.',
  inputs: {
    diagonals: diagonalsInput,
  },
  output: 'features',
  plan: (values) => ({ kind: 'polygonize', diagonals: values['diagonals'] === true }),
});

const cellSizeInput: InputDefinition = {
  title: 'Cell size',
  description: 'Side of a pixel, in units of the CRS.',
  schema: Type.Number({ minimum: 1e-9, maximum: 1e9 }),
};

const reproject = rasterProcess({
  id: 'raster.reproject',
  title: 'Reproject a raster',
  description: 'All bands in another coordinate reference system.',
  inputs: {
    targetCrs: makeOptional({
      title: 'Target CRS',
      description: 'EPSG:3857, an address or a URN; targetSrid is the same as a number.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    targetSrid: makeOptional({
      title: 'Target SRID',
      description: 'An EPSG code.',
      schema: Type.Integer({ minimum: 1 }),
    }),
    cellSize: makeOptional(cellSizeInput),
    resampling: resamplingInput,
  },
  allBands: true,
  plan(values) {
    const { targetCrs, targetSrid, cellSize } = values;
    if ((targetCrs === undefined) === (targetSrid === undefined))
      throw badParameter('/inputs/targetCrs', 'is required, or targetSrid, but not both');
    const name = targetCrs === undefined ? 'targetSrid' : 'targetCrs';
    const { proj: crs } = resolveCrs(
      `/inputs/${name}`,
      targetCrs === undefined ? `EPSG:${targetSrid}` : String(targetCrs),
    );
    const pixelSize = cellSize as number | undefined;
    return {
      kind: 'warp',
      crs,
      resampling: getResampling(values),
      ...(pixelSize === undefined ? {} : { pixelSize }),
    };
  },
});

const resample = rasterProcess({
  id: 'raster.resample',
  title: 'Resample a raster',
  description: 'All bands with pixels of another size.',
  inputs: { cellSize: cellSizeInput, resampling: resamplingInput },
  allBands: true,
  plan: (values) => ({
    kind: 'warp',
    pixelSize: getNumberInput(values, 'cellSize'),
    resampling: getResampling(values),
  }),
});

export const RASTER_PROCESSES: readonly ProcessDefinition[] = [
  hillshade,
  slope,
  plain(
    'surface.aspect',
    'aspect',
    'Aspect',
    'Where slopes face, in degrees from north; nothing where it is level.',
  ),
  plain(
    'surface.roughness',
    'Roughness',
    'Roughness',
    'Difference of the greatest and the least value around each pixel.',
  ),
  plain(
    'surface.rugosity-tri',
    'TRI',
    'Terrain ruggedness',
    'Root of the squared differences from the pixels around (Riley).',
  ),
  plain(
    'surface.rugosity-tpi',
    'TPI',
    'Topographic position',
    'Difference from the mean of the pixels around.',
  ),
  viewshed,
  contour,
  polygonize,
  reproject,
  resample,
];
