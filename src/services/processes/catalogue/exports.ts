import Type from 'typebox';
import { EXPORT_NAMES } from '../../exports/formats.js';
import type { ProcessDefinition } from '../definition.js';
import { featuresInput, optional } from './parts.js';

/** The formats of exports of layers. */
export const featureExport: ProcessDefinition = {
  id: 'conversion.feature-export',
  title: 'Export features',
  description: 'The features as a file of a format that other programs read.',
  keywords: ['vector', 'export'],
  inputs: {
    features: featuresInput('Features', 'The features to write.'),
    format: {
      title: 'Format',
      description: 'Of the file.',
      schema: Type.String({ enum: [...EXPORT_NAMES] }),
    },
    targetCrs: optional({
      title: 'Target CRS',
      description: 'Of the coordinates; that of the features when absent, and always WGS 84 in KML.',
      schema: Type.String({ minLength: 1, maxLength: 200 }),
    }),
  },
  outputs: {
    file: {
      title: 'File',
      description: 'In the format that was asked for; shapefiles lie in a ZIP archive.',
      schema: Type.String({ contentEncoding: 'binary', contentMediaType: 'application/octet-stream' }),
      isFile: true,
    },
  },
  work: { kind: 'export', input: 'features', output: 'file' },
};
