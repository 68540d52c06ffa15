export const GEOSERVICES_LIMITS = {
  /** Pixels of an area for a histogram: each takes at most 32 bytes of memory. */
  histogramPixels: 4_194_304,
  /** Features that one calculation changes. */
  calculatedFeatures: 10_000,
  /** Characters of a text that is geocoded. */
  geocodeText: 500,
  /** Suggestions in a response. */
  geocodeSuggestions: 15,
  /** Characters of the key of a suggestion. */
  geocodeKey: 5000,
  /** Addresses of a batch that the locator suggests to clients. */
  geocodeSuggestedBatch: 100,
  /** Metres around a location in which its address is searched: default and maximum. */
  geocodeReach: 10_000,
  geocodeReachMax: 100_000,
  /** Features in a GeoServices response: the default and the maximum; and the maximum number of ids. */
  geoServicesRecords: 1000,
  geoServicesRecordsMax: 10_000,
  geoServicesIds: 1_000_000,
  /** Geometries in a GeometryServer request. */
  geometries: 10_000,
  /** Maximum number of distances in one `buffer` request of a GeometryServer. */
  geometryDistances: 100,
  /** Statistics in a GeoServices query. */
  geoServicesStatistics: 50,
  /** Services whose portal item ids are kept. */
  portalItems: 20_000,
  /** Edits of one synchronisation. */
  replicaEdits: 1000,
  /** Attachments that one response lists, or ids in one request; and attachments that a page can skip. */
  attachmentsListed: 1000,
  attachmentOffset: 100_000,
} as const;
