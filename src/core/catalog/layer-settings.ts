/** What operators say of layers and services beyond what the data says itself. */

import { MERGES } from '../rasters/rasters.js';
import type { CodedValue } from '../sources/vector-source.js';
import type { AnyNumber } from '../values/exact-number.js';

/** Words about a layer. */
export interface LayerAbout {
  readonly keywords?: readonly string[];
  /** SPDX identifier, or `proprietary`. */
  readonly license?: string;
  readonly licenseUrl?: string;
  /** Who is to be named with the data. */
  readonly attribution?: string;
  readonly publisher?: string;
  readonly sourceUrl?: string;
}

/** Fields that hold when features begin and end, and which of them are of one thing that moves. */
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
  /** The field exists on no surface, for nobody. */
  readonly hidden?: boolean;
  /** False: clients may not change it; what they send of it is left out. */
  readonly editable?: boolean;
  /** Its place among the fields: those with a number come first, by their numbers. */
  readonly order?: number;
  readonly domain?: CodedValueDomain | RangeDomain;
}

export const FILTER_LANGUAGES = ['arcgis-sql', 'cql2-text', 'cql2-json'] as const;

/** Only features that pass exist, on every surface, for everybody. */
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

/** Which raster of a mosaic is on top where several lie, or what becomes of their values. */
export const MERGE_STRATEGIES = ['newest', 'oldest', ...MERGES] as const;
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number];

/** Settings of a layer, as they are kept by the id of its collection. */
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

/** What licences and sources of a layer may lead to: pages have links to it. */
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

/** How maps of a service are drawn where a request does not say it. */
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

/** Settings of a service, as they are kept by its name. */
export interface ServiceSettings {
  readonly description?: string;
  /** All when absent. */
  readonly protocols?: readonly ServiceProtocol[];
  readonly timeInfo?: TimeInfo;
  readonly mapServer?: Partial<MapSettings>;
}
