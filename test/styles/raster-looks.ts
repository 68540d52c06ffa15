import type { StyleLayer } from '../../src/core/styles/model.js';

interface RasterLook {
  of: 'dem' | 'landsat';
  layers: StyleLayer[];
}

export const RASTER_LOOKS: Record<string, RasterLook> = {
  'a colour relief under shades': {
    of: 'dem',
    layers: [
      {
        id: 'relief',
        type: 'color-relief',
        paint: {
          'color-relief-color': [
            'interpolate',
            ['linear'],
            ['elevation'],
            0,
            '#2b83ba',
            30,
            '#abdda4',
            60,
            '#fdae61',
            88,
            '#d7191c',
          ],
        },
      },
      { id: 'shade', type: 'hillshade', paint: { 'hillshade-exaggeration': 0.6 } },
    ],
  },
  'shades alone': {
    of: 'dem',
    layers: [
      {
        id: 'shade',
        type: 'hillshade',
        paint: { 'hillshade-illumination-direction': 90, 'hillshade-shadow-color': '#203050' },
      },
    ],
  },
  'steps of heights': {
    of: 'dem',
    layers: [
      {
        id: 'relief',
        type: 'color-relief',
        paint: {
          'color-relief-color': ['step', ['elevation'], '#08519c', 5, '#c7e9c0', 40, '#fd8d3c'],
          'color-relief-opacity': 0.7,
        },
      },
    ],
  },
  'bands of a raster': {
    of: 'landsat',
    layers: [
      {
        id: 'raster',
        type: 'raster',
        metadata: { 'graticule:look': { bands: [4, 3, 2], rescale: [[20, 120]] } },
      },
    ],
  },
  'adjusted colours': {
    of: 'landsat',
    layers: [
      {
        id: 'raster',
        type: 'raster',
        paint: {
          'raster-opacity': 0.8,
          'raster-saturation': -0.5,
          'raster-contrast': 0.3,
          'raster-hue-rotate': 40,
          'raster-brightness-min': 0.1,
        },
      },
    ],
  },
};
