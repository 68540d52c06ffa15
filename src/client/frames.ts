/** Frames of the feature stream, as the server sends them and as it takes them. */

/** `snapshot` ends after the current features; `snapshot-then-delta` continues with changes. */
export type StreamMode = 'delta' | 'snapshot' | 'snapshot-then-delta';

/** Selection of a subscription. Box, filter and datetime require exactly one layer. */
export interface Interest {
  serviceId?: string;
  layers?: readonly number[];
  /** West, south, east, north in degrees; west > east crosses the antimeridian. */
  bbox?: readonly [number, number, number, number];
  /** GeoJSON Polygon or MultiPolygon, longitude first; not over server-sent events. */
  polygon?: object;
  /** CQL2, as text or, with `filterLang: 'cql2-json'`, as its JSON. */
  filter?: string | object;
  filterLang?: 'cql2-text' | 'cql2-json';
  /** RFC 3339 instant or interval. */
  datetime?: string;
  mode?: StreamMode;
  /** Whether a client that does not keep up is disconnected, or gets the latest of each feature; of its whole session. */
  onSlow?: 'drop' | 'coalesce';
  /** Changes after this cursor are sent; if absent, changes from now on. */
  cursor?: number;
}

export interface Geometry {
  type: string;
  coordinates?: unknown;
  geometries?: unknown;
}

interface FeatureMembers {
  serviceId: string;
  layerId: number;
  featureId: string;
  objectId: number;
  /** GeoJSON, longitude first. */
  geometry?: Geometry;
  geometryCrs?: string;
  attributes?: Record<string, unknown>;
}

interface OfSubscription {
  subscriptionId: string;
  /** Counts the frames of a subscription, from 0. */
  sequence: number;
  cursor: number;
}

/** A feature that leaves what a subscription sees is deleted for it, one that enters is inserted. */
export interface FeatureChange extends OfSubscription, FeatureMembers {
  type: 'feature-change';
  eventId: string;
  timestamp: string;
  operation: 'insert' | 'update' | 'delete';
  protocol: string;
  requestId: string;
  changedAttributes?: string[];
  geometryChanged: boolean;
}

/** Changes before `cursor` may be missing: they are kept no longer, or belong to another feed, or were lost. */
export interface Gap extends OfSubscription {
  type: 'gap';
  reason: 'cursor-expired' | 'cursor-invalid' | 'events-lost';
  timestamp: string;
}

interface OfSnapshot extends OfSubscription {
  snapshotId: string;
}

export interface SnapshotBegin extends OfSnapshot {
  type: 'snapshot-begin';
  reason: 'initial' | 'cursor-expired' | 'cursor-invalid';
  layerIds: number[];
  timestamp: string;
}

export interface SnapshotFeature extends OfSnapshot, FeatureMembers {
  type: 'snapshot-feature';
}

export interface SnapshotEnd extends OfSnapshot {
  type: 'snapshot-end';
  featureCount: number;
  /** False when there are more features than a snapshot may have. */
  complete: boolean;
}

/** All of a snapshot: what subscriptions of the mode `snapshot` get. */
export interface WholeSnapshot extends OfSnapshot {
  type: 'snapshot';
  reason: SnapshotBegin['reason'];
  layerIds: number[];
  timestamp: string;
  featureCount: number;
  complete: boolean;
  features: BatchedFeature[];
}

export interface BatchedFeature {
  id: string;
  /** Id of the collection. */
  sourceId: string;
  layerId: number;
  geometryCrs: string;
  feature: { type: 'Feature'; geometry: Geometry | null; properties: Record<string, unknown> };
}

/** Frames with features and changes of a subscription, in order. */
export type DataFrame = FeatureChange | Gap | SnapshotBegin | SnapshotFeature | SnapshotEnd | WholeSnapshot;

export interface StatusFrame {
  type: 'status';
  status: 'connected' | 'subscribed' | 'unsubscribed' | 'ok';
  message: string;
  timestamp: string;
  sessionId?: string;
  subscriptionId?: string;
  cursor?: number;
}

export interface ErrorFrame {
  type: 'error';
  code: string;
  message: string;
  subscriptionId?: string;
}

export interface Heartbeat {
  type: 'heartbeat';
  /** All changes up to it that are wanted have been sent. */
  cursor: number;
}

export type ServerFrame = DataFrame | StatusFrame | ErrorFrame | Heartbeat;
