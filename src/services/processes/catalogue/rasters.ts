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

const zFactor = defineNumberInput('Z factor', 'Factor for heights.', {
  minimum: 0.000001,
  maximum: 1e9,
  default: 1,
});

/** Metres of a unit along a meridian, for heights in metres; what GDAL takes for degrees. */
const buildScale = ({ crs }: RasterFacts) => [
  '-s',
  String(crs.isGeographic ? 111_120 : 1 / crs.metresPerUnit),
];

/** Coefficient of the Earth's curvature with average refraction of light, 6/7. */
const CURVATURE = 0.857_14;

const hillshade = rasterProcess({
  id: 'surface.hillshade',
  title: 'Hillshade',
  description: 'Computes shaded relief from 1 (dark) to 255 (bright) of heights in metres.',
  inputs: {
    azimuth: defineNumberInput('Azimuth', 'Direction of the light source, in degrees from north.', {
      minimum: 0,
      maximum: 360,
      default: 315,
    }),
    altitude: defineNumberInput('Altitude', 'Angle of the light source above the horizon, in degrees.', {
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
  description: 'Computes the slope of heights in metres, in degrees or per cent.',
  inputs: {
    units: makeOptional({
      title: 'Units',
      description: 'degrees, or percent.',
      schema: Type.String({ enum: ['degrees', 'percent'], default: 'degrees' }),
    }),
    zFactor,
  },
  plan(values, facts) {
    // GDAL has no height factor for slopes, so horizontal lengths are divided by it.
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
    'Computes the visible area from a position: 1 visible, 0 hidden. The CRS must be projected; heights are in its unit.',
  inputs: {
    observerX: {
      title: 'X of the observer',
      description: 'Coordinate in the CRS of the raster.',
      schema: Type.Number(),
    },
    observerY: {
      title: 'Y of the observer',
      description: 'Coordinate in the CRS of the raster.',
      schema: Type.Number(),
    },
    observerHeight: height('Height of the observer', 'Height above the ground.', 2),
    targetHeight: height('Height of the target', 'Height above the ground.', 0),
    maxDistance: defineNumberInput(
      'Maximum distance',
      'Pixels beyond this distance have no value. Default: no limit.',
      {
        minimum: 1e-6,
        maximum: 1e9,
      },
    ),
    curvature: defineNumberInput(
      'Curvature',
      'Factor for the curvature of the Earth after refraction. 0: plane.',
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
  description: 'Creates lines of equal value with the attribute elevation.',
  inputs: {
    interval: {
      title: 'Interval',
      description: 'Value difference between two lines.',
      schema: Type.Number({ minimum: 0.000001, maximum: 1e9 }),
    },
    base: defineNumberInput('Base', 'Reference value of a line.', {
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
    'Creates a polygon for each area of equal value, with the attribute value. Pixels without data are ignored.',
  inputs: {
    diagonals: diagonalsInput,
  },
  output: 'features',
  plan: (values) => ({ kind: 'polygonize', diagonals: values['diagonals'] === true }),
});

const cellSizeInput: InputDefinition = {
  title: 'Cell size',
  description: 'Pixel size in units of the CRS.',
  schema: Type.Number({ minimum: 1e-9, maximum: 1e9 }),
};

const reproject = rasterProcess({
  id: 'raster.reproject',
  title: 'Reproject a raster',
  description: 'Transforms all bands to another coordinate reference system.',
  inputs: {
    targetCrs: makeOptional({
      title: 'Target CRS',
      description: 'EPSG:3857, a URI or a URN. targetSrid is the same as a number.',
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
      throw badParameter('/inputs/targetCrs', 'is required without targetSrid, and not allowed with it');
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
  description: 'Resamples all bands to another pixel size.',
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
    'Computes the direction of slopes, in degrees from north. Level pixels have no value.',
  ),
  plain(
    'surface.roughness',
    'Roughness',
    'Roughness',
    'Computes the difference between maximum and minimum around each pixel.',
  ),
  plain(
    'surface.rugosity-tri',
    'TRI',
    'Terrain ruggedness',
    'Computes the root of squared differences to surrounding pixels (Riley).',
  ),
  plain(
    'surface.rugosity-tpi',
    'TPI',
    'Topographic position',
    'Computes the difference to the mean of surrounding pixels.',
  ),
  viewshed,
  contour,
  polygonize,
  reproject,
  resample,
];
