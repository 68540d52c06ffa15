import type { Box } from '../geometry/box.js';
import type { RemoteRequest } from './ingest.js';

/**
 * Contents of a GeoServer, read by its REST API. Layers, styles and groups have the name `workspace:name`, or `name`
 * without a workspace.
 */

export interface GeoServerTask extends RemoteRequest {
  /** Whether SLD styles are read. */
  readonly withStyles: boolean;
}

export interface GeoServerWorkspace {
  readonly name: string;
  readonly isDefault: boolean;
  readonly isIsolated: boolean;
}

export interface GeoServerStore {
  readonly kind: 'data' | 'coverage';
  readonly workspace: string;
  readonly name: string;
  /** GeoServer's name of the format: `PostGIS`, `Shapefile`, `GeoTIFF`. */
  readonly type: string | undefined;
  readonly isEnabled: boolean;
  readonly description: string | undefined;
  /** Location of the data, without secrets. */
  readonly parameters: Readonly<Record<string, string>>;
}

export interface GeoServerAttribute {
  readonly name: string;
  /** Java class of its values. */
  readonly binding: string | undefined;
  readonly isNullable: boolean;
}

/** Resource of a layer: a feature type or a coverage. */
export interface GeoServerResource {
  readonly kind: 'featureType' | 'coverage';
  readonly workspace: string;
  readonly store: string;
  readonly name: string;
  readonly nativeName: string | undefined;
  readonly title: string | undefined;
  readonly abstract: string | undefined;
  readonly keywords: readonly string[];
  /** Declared CRS: `EPSG:25832`. */
  readonly srs: string | undefined;
  readonly isEnabled: boolean;
  readonly box84: Box | undefined;
  readonly attributes: readonly GeoServerAttribute[];
  /** Condition in ECQL that all of its features pass. */
  readonly filter: string | undefined;
  /** Names of the bands of a coverage. */
  readonly bands: readonly string[];
  /** Non-spatial dimensions: `time`, `elevation`. */
  readonly dimensions: readonly string[];
}

export interface GeoServerLayer {
  readonly id: string;
  readonly workspace: string | undefined;
  readonly name: string;
  /** `VECTOR`, `RASTER`, `WMS`, `WMTS`, `REMOTE`. */
  readonly type: string | undefined;
  readonly isEnabled: boolean;
  readonly defaultStyle: string | undefined;
  /** Others than the default style. */
  readonly styles: readonly string[];
  readonly attribution: string | undefined;
  readonly attributionUrl: string | undefined;
  /** Absent where it could not be read, or is of another server. */
  readonly resource: GeoServerResource | undefined;
}

export interface GeoServerGroup {
  readonly id: string;
  readonly workspace: string | undefined;
  readonly name: string;
  readonly title: string | undefined;
  readonly abstract: string | undefined;
  /** `SINGLE`, `NAMED`, `CONTAINER`, `EO`. */
  readonly mode: string | undefined;
  /** Layers and groups, from the lowest to the highest, with their styles; undefined where the layer's own is drawn. */
  readonly members: readonly {
    readonly kind: 'layer' | 'layerGroup';
    readonly id: string;
    readonly style: string | undefined;
  }[];
}

export interface GeoServerStyle {
  readonly id: string;
  readonly workspace: string | undefined;
  readonly name: string;
  /** `sld`, `css`, `ysld`, `mbstyle`, `zip`. */
  readonly format: string;
  readonly languageVersion: string | undefined;
  readonly fileName: string | undefined;
  /** Text of SLD, where it was read. */
  readonly content: string | undefined;
}

export interface GeoServerEndpoint {
  /** `wfs`, `wms`, `wcs`. */
  readonly service: string;
  readonly url: string;
  readonly isEnabled: boolean;
  readonly title: string | undefined;
}

/** A grid of the tile cache. */
export interface GeoServerGridset {
  readonly name: string;
  readonly description: string | undefined;
  /** EPSG code, or 900913. */
  readonly srid: number;
  /** Whether the CRS has northing or latitude first. The box is in x,y order in any case. */
  readonly isNorthFirst: boolean;
  /** Extent in the CRS. Tiles are counted from its top left corner, or from its bottom left one. */
  readonly box: Box;
  readonly isTopLeft: boolean;
  readonly metresPerUnit: number;
  /** In cells. */
  readonly tileWidth: number;
  readonly tileHeight: number;
  /** Sides of cells in units of the CRS, from the smallest scale to the largest. */
  readonly levels: readonly { readonly name: string; readonly cellSize: number }[];
}

/** A layer or a group of the tile cache. */
export interface GeoServerTileLayer {
  readonly id: string;
  readonly isEnabled: boolean;
  /** Media types. */
  readonly formats: readonly string[];
  /** Names of the gridsets of its tiles. */
  readonly gridsets: readonly string[];
}

/** A part that could not be read, and why. */
export interface GeoServerGap {
  /** Path below the root of the REST API, or after `gwc` of the tile cache. */
  readonly path: string;
  readonly reason: string;
}

export interface GeoServerCatalog {
  readonly version: string | undefined;
  readonly gitRevision: string | undefined;
  readonly buildTimestamp: string | undefined;
  /** Settings without secrets; undefined if they are not readable. */
  readonly settings: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly endpoints: readonly GeoServerEndpoint[];
  readonly workspaces: readonly GeoServerWorkspace[];
  readonly stores: readonly GeoServerStore[];
  /** Layers. Feature types and coverages without a layer are omitted. */
  readonly layers: readonly GeoServerLayer[];
  readonly groups: readonly GeoServerGroup[];
  readonly styles: readonly GeoServerStyle[];
  /** Empty where there is no tile cache. */
  readonly gridsets: readonly GeoServerGridset[];
  readonly tileLayers: readonly GeoServerTileLayer[];
  readonly gaps: readonly GeoServerGap[];
}

/** Name of an object with or without a workspace. */
export function geoServerId(workspace: string | undefined, name: string): string {
  return workspace === undefined ? name : `${workspace}:${name}`;
}
