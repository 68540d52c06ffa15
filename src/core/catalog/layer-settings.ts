/** Settings of layers and services by operators. */

import { MERGES } from '../rasters/rasters.js';
import type { CodedValue } from '../sources/vector-source.js';
import type { AnyNumber } from '../values/exact-number.js';

/** Words about a layer. */
export interface LayerAbout {
  readonly keywords?: readonly string[];
  /** SPDX identifier, or `proprietary`. */
  readonly license?: string;
  readonly licenseUrl?: string;
  /** Attribution of the data. */
  readonly attribution?: string;
  readonly publisher?: string;
  readonly sourceUrl?: string;
}

/** Fields with the start and end times of features, and the field that identifies a moving object. */
export interface TimeInfo {
  readonly startTimeField: string | null;
  readonly endTimeField: string | null;
  readonly trackIdField: string | null;
}

export interface CodedValueDomain {
  readonly type: 'codedValue';
  readonly name: string;
  readonly codedValues: readonly CodedValue[];
}

/** Null where there is no bound. */
export interface RangeDomain {
  readonly type: 'range';
  readonly name: string;
  readonly range: readonly [min: AnyNumber | null, max: AnyNumber | null];
}

export interface FieldSettings {
  readonly name: string;
  readonly alias?: string;
  /** Whether the field is hidden in all APIs for all callers. */
  readonly hidden?: boolean;
  /** False: clients cannot change the field, and values that they send are ignored. */
  readonly editable?: boolean;
  /** Its place among the fields: those with a number come first, by their numbers. */
  readonly order?: number;
  readonly domain?: CodedValueDomain | RangeDomain;
}

export const FILTER_LANGUAGES = ['arcgis-sql', 'cql2-text', 'cql2-json'] as const;

/** Permanent filter: only matching features exist in all APIs for all callers. */
export interface PermanentFilter {
  readonly expression: string;
  readonly language: (typeof FILTER_LANGUAGES)[number];
}

/** Rows of two layers that belong together: their values of one field are equal. */
export interface Relationship {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly cardinality: 'one-to-one' | 'one-to-many' | 'many-to-many';
  readonly role: 'origin' | 'destination';
  readonly originField: string;
  readonly destinationField: string;
  readonly relatedLayerId: number;
  readonly esriRelationshipId: number | null;
}

/** Merge strategy of overlapping rasters in a mosaic. */
export const MERGE_STRATEGIES = ['newest', 'oldest', ...MERGES] as const;
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number];

/** Settings of a layer, stored by the id of its collection. */
export interface LayerSettings {
  readonly title?: string;
  readonly description?: string;
  readonly about?: LayerAbout;
  readonly timeInfo?: TimeInfo;
  readonly fields?: readonly FieldSettings[];
  readonly filter?: PermanentFilter;
  readonly relationships?: readonly Relationship[];
  readonly mergeStrategy?: MergeStrategy;
  /** The service that it belongs to, where the source does not say it. */
  readonly service?: string;
  /** False: the layer is on no surface. */
  readonly enabled?: boolean;
}

/** URLs of licences and sources that pages can link to. */
export const WEB_ADDRESS = /^https?:\/\/[^\s"<>]+$/i;

/** Surfaces that a service can be switched off on, as the management API names them. */
export const PROTOCOLS = [
  'OgcFeatures',
  'OgcTiles',
  'OgcMaps',
  'OgcCoverages',
  'Stac',
  'Streaming',
  'FeatureServer',
  'MapServer',
  'ImageServer',
  'VectorTileServer',
] as const;
export type ServiceProtocol = (typeof PROTOCOLS)[number];

/** Defaults of map images of a service. */
export interface MapSettings {
  readonly maxImageWidth: number;
  readonly maxImageHeight: number;
  readonly defaultImageWidth: number;
  readonly defaultImageHeight: number;
  readonly defaultDpi: number;
  readonly defaultFormat: 'png' | 'jpg' | 'webp';
  readonly defaultTransparent: boolean;
  /** 0: all features of the window. */
  readonly maxFeaturesPerLayer: number;
}

/** Settings of a service, stored by its name. */
export interface ServiceSettings {
  readonly description?: string;
  /** Default: all APIs. */
  readonly protocols?: readonly ServiceProtocol[];
  readonly timeInfo?: TimeInfo;
  readonly mapServer?: Partial<MapSettings>;
}
