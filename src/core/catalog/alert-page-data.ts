import type { MapLayerData } from './page-data.js';

/** Data of the alert pages for their scripts, in `<script type="application/json">`. Types only. */

/** An area on a map. */
export interface ZoneData {
  readonly zoneId: number;
  readonly name: string;
  readonly isActive: boolean;
  /** GeoJSON MultiPolygon in CRS84. */
  readonly area: { readonly type: 'MultiPolygon'; readonly coordinates: [number, number][][][] };
}

/** An open incident on a map. */
export interface IncidentData {
  readonly eventId: number;
  readonly title: string;
  readonly severity: string;
  /** Longitude and latitude. */
  readonly position: readonly [number, number];
}

/** `alerts-data`. Paths are of this site. */
export interface AlertsData {
  /** Path of the management API. */
  readonly api: string;
  /** Path of the alert stream. Null if the caller may not read it. */
  readonly stream: string | null;
  /** Position in the stream at which the page was made. */
  readonly cursor: number;
  readonly zones: readonly ZoneData[];
  readonly incidents: readonly IncidentData[];
}

interface RuleLayerData {
  readonly layerId: number;
  readonly title: string;
  /** Path of the collection of the layer in OGC API Features. */
  readonly collection: string;
  /** The layer on the map. Null: the page does not draw it. */
  readonly map: MapLayerData | null;
}

/** `rule-data`. Paths are of this site. */
export interface RuleFormData {
  readonly api: string;
  /** Path of the page with all alerts. */
  readonly alerts: string;
  readonly ruleId: number | null;
  readonly zones: readonly ZoneData[];
  readonly layers: readonly RuleLayerData[];
}
