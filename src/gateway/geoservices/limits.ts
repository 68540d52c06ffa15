export const GEOSERVICES_LIMITS = {
  /** Pixels of an area whose values are counted: 32 bytes of memory each at most. */
  histogramPixels: 4_194_304,
  /** Features that one calculation changes. */
  calculatedFeatures: 10_000,
  /** Characters of a text that is geocoded. */
  geocodeText: 500,
  /** Suggestions of an answer. */
  geocodeSuggestions: 15,
  /** Characters of the key of a suggestion. */
  geocodeKey: 5000,
  /** Addresses of a batch that the locator suggests to clients. */
  geocodeSuggestedBatch: 100,
  /** Metres around a location in which its address is searched: default and maximum. */
  geocodeReach: 10_000,
  geocodeReachMax: 100_000,
  /** Features of an answer of GeoServices: where none is asked for, and at most. Ids of one. */
  geoServicesRecords: 1000,
  geoServicesRecordsMax: 10_000,
  geoServicesIds: 1_000_000,
  /** Geometries that a GeometryServer takes at once. */
  geometries: 10_000,
  /** Distances of a buffer of a GeometryServer. */
  geometryDistances: 100,
  /** Statistics that one query of GeoServices asks for. */
  geoServicesStatistics: 50,
  /** Services whose ids as items of the portal are remembered. */
  portalItems: 20_000,
  /** Edits of one synchronisation. */
  replicaEdits: 1000,
  /** Attachments that one response lists, or ids in one request; and attachments that a page can skip. */
  attachmentsListed: 1000,
  attachmentOffset: 100_000,
} as const;
