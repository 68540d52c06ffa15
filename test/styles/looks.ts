import type { StyleLayer } from '../../src/core/styles/model.js';
import { countries, lines, points } from './tiles.js';

interface Look {
  tile: () => Uint8Array;
  sourceLayer: string;
  layers: StyleLayer[];
}

/** Styles whose drawing is compared: with pictures that were looked at, and with MapLibre's own drawing. */
export const LOOKS: Record<string, Look> = {
  'fills by expression': {
    tile: countries,
    sourceLayer: 'countries',
    layers: [
      {
        id: 'fill',
        type: 'fill',
        paint: {
          'fill-color': [
            'interpolate',
            ['linear'],
            ['length', ['get', 'name']],
            4,
            '#ffffcc',
            8,
            '#fd8d3c',
            14,
            '#800026',
          ],
          'fill-opacity': 0.8,
        },
      },
      { id: 'edge', type: 'line', paint: { 'line-color': '#334455', 'line-width': 1.5 } },
    ],
  },
  'a few countries by filter and match': {
    tile: countries,
    sourceLayer: 'countries',
    layers: [
      {
        id: 'land',
        type: 'fill',
        paint: {
          'fill-color': [
            'match',
            ['get', 'code'],
            ['DZA', 'LBY', 'EGY'],
            '#c2a25a',
            'SDN',
            '#a63603',
            '#dddddd',
          ],
          'fill-outline-color': '#ffffff',
        },
      },
      {
        id: 'chosen',
        type: 'line',
        filter: ['in', ['get', 'code'], ['literal', ['IRN', 'TUR', 'SAU']]],
        layout: { 'line-join': 'round' },
        paint: { 'line-color': '#0055aa', 'line-width': ['case', ['==', ['get', 'code'], 'IRN'], 6, 3] },
      },
    ],
  },
  'lines with casing, dashes and offset': {
    tile: lines,
    sourceLayer: 'lines',
    layers: [
      {
        id: 'casing',
        type: 'line',
        layout: { 'line-cap': 'round', 'line-join': 'round' },
        paint: { 'line-color': '#333333', 'line-width': ['+', 6, ['*', 2, ['get', 'rank']]] },
      },
      {
        id: 'road',
        type: 'line',
        layout: { 'line-cap': 'round', 'line-join': 'round' },
        paint: {
          'line-color': ['step', ['get', 'rank'], '#ffd54f', 2, '#ff8a65', 4, '#e57373'],
          'line-width': ['+', 3, ['*', 2, ['get', 'rank']]],
        },
      },
      {
        id: 'dash',
        type: 'line',
        paint: { 'line-color': '#ffffff', 'line-width': 2, 'line-dasharray': [4, 3] },
      },
      {
        id: 'beside',
        type: 'line',
        paint: { 'line-color': '#1565c0', 'line-width': 2, 'line-offset': 14 },
      },
    ],
  },
  'circles by attributes': {
    tile: points,
    sourceLayer: 'points',
    layers: [
      {
        id: 'circle',
        type: 'circle',
        layout: { 'circle-sort-key': ['get', 'size'] },
        paint: {
          'circle-radius': ['*', 2, ['get', 'size']],
          'circle-color': ['match', ['get', 'kind'], 'city', '#d7301f', '#2b8cbe'],
          'circle-opacity': 0.8,
          'circle-stroke-color': '#ffffff',
          'circle-stroke-width': 2,
        },
      },
    ],
  },
  'a heatmap': {
    tile: points,
    sourceLayer: 'points',
    layers: [
      {
        id: 'heat',
        type: 'heatmap',
        paint: {
          'heatmap-weight': ['/', ['get', 'size'], 10],
          'heatmap-radius': 40,
          'heatmap-intensity': 1.2,
        },
      },
    ],
  },
  'labels with halos': {
    tile: points,
    sourceLayer: 'points',
    layers: [
      {
        id: 'dot',
        type: 'circle',
        paint: { 'circle-radius': 3, 'circle-color': '#444444' },
      },
      {
        id: 'name',
        type: 'symbol',
        layout: {
          'text-field': ['get', 'label'],
          'text-font': ['Noto Sans Regular'],
          'text-size': 14,
          'text-anchor': 'top',
          'text-offset': [0, 0.5],
        },
        paint: { 'text-color': '#113355', 'text-halo-color': '#ffffff', 'text-halo-width': 1.5 },
      },
    ],
  },
  'icons of the sprite': {
    tile: points,
    sourceLayer: 'points',
    layers: [
      {
        id: 'icon',
        type: 'symbol',
        layout: {
          'icon-image': ['match', ['get', 'kind'], 'city', 'town-hall', 'mark-square'],
          'icon-size': 1.2,
          'icon-allow-overlap': true,
        },
        paint: { 'icon-color': '#7a0177' },
      },
    ],
  },
};
