/**
 * Limits that several capabilities share. Limits of one capability are in `limits.ts` of its module.
 * docs/reference/server/limits.md lists all.
 */
export const LIMITS = {
  /** Items of a page of features at most (contract). */
  itemsMax: 2000,
  /** Features of an export that is returned immediately, and days for which the file of an export job is kept. */
  exportFeatures: 50_000,
  exportDays: 7,
  /** Maximum number of investigations, and of pins and of links of each. */
  investigations: 10_000,
  investigationEntries: 500,
  /** Largest offset of an items page. */
  offsetMax: 1_000_000_000,
  /** Pixels per side of a coverage (contract). */
  coverageSide: 8192,
  /** Pixels per side of a rendered map (contract). */
  mapSide: 4096,
  /** Collections in one map or dataset tile. */
  collectionsPerRequest: 64,
  /** Largest zoom of the built-in tile matrix sets. */
  tileZoom: 24,
  /** Bytes of a JSON request body. Default for all operations. */
  bodyBytes: 1_048_576,
  /** A feature or a batch of them: bytes (contract), values, members. */
  editBytes: 26_214_400,
  editValues: 5_000_000,
  editNames: 200_000,
  /** A search or an analytics operation, whose geometry may be large. CQL2 JSON has two levels per operator. */
  searchBytes: 8_388_608,
  searchDepth: 256,
  searchValues: 400_000,
  /** Levels of JSON in a parameter, a field or a frame. */
  textDepth: 256,
  /** Bytes of a body that the event loop parses itself; larger ones are parsed by a worker. */
  loopBodyBytes: 65_536,
  /** Bytes of a request line (path and query). */
  urlBytes: 8192,
  /** Characters of a filter in CQL2 text. */
  filterCharacters: 65_536,
  /** Positions of all the geometries in one filter. */
  filterPositions: 100_000,
  /** Features that an analytics operation reads (contract). */
  analyticsInput: 100_000,
  /** Different values of a zone, where its statistics need all of them. */
  zoneValues: 16_777_216,
  /** Bytes of the body of an execution, and of a file that it names. */
  processBodyBytes: 8_388_608,
  /** Bytes of memory of the process of a job where the settings do not say. */
  processMemoryBytes: 4_294_967_296,
  /** Milliseconds a request may wait for and use a worker. */
  requestDeadlineMs: 30_000,
  /** Milliseconds without a statement after which PostGIS undoes an edit. */
  idleTransactionMs: 5000,
  /** Estimated steps above which the request of an anonymous client is refused. */
  anonymousSteps: 100_000_000,
  /** Bytes of a stored tile once it is inflated. */
  inflatedTileBytes: 67_108_864,
  /** Changes that may wait for one stream client that does not read (contract). */
  streamBuffer: 256,
  /** Characters of the id of a subscription (contract). */
  subscriptionId: 128,
  /** Bytes of a frame from a client (contract). */
  controlFrameBytes: 65_536,
  /** Change feed entries in one read for a slow subscriber (contract). */
  replayBatch: 200,
  /** Lifetime of access tokens of OAuth clients, in seconds. */
  clientTokenSeconds: 3600,
  /** Milliseconds between two heartbeats (contract). */
  heartbeatMs: 30_000,
  /** Attempts to deliver an event to a webhook (contract). */
  webhookAttempts: 5,
  /** Milliseconds for which a tile from a database is cached, because changes by other programs are not observed. */
  databaseTileMs: 60_000,
  /** Levels of arrays and objects in a geometry, and in the value of a property. */
  jsonDepth: 64,
  /** Operations of one batch of edits (contract). */
  batchOperations: 1000,
  /** Rejected rows of a merge that its result names. */
  mergeNamed: 100,
  /** Characters of band math. */
  expressionCharacters: 2000,
  /** Colours of a colour map that a request brings along. */
  colormapEntries: 256,
  /** Bytes of a style in SLD (contract). */
  sldBytes: 1_048_576,
  /** Characters of a style. */
  styleCharacters: 1_048_576,
  /** Styles of a table that its file may bring along. */
  fileStyles: 20,
  /** Samples (pixels of all bands) of a raster that is imported. */
  importSamples: 16_000_000_000,
  /** Bytes of an uploaded file for import, and bytes buffered while it is written. */
  uploadBytes: 4_294_967_296,
  uploadBuffer: 65_536,
  /** Characters of a value of the reference data of a locator. */
  geocodeValue: 500,
  /** Candidates in a response of a locator. */
  geocodeCandidates: 50,
  /** Addresses of a batch. */
  geocodeBatch: 1000,
  /** Units of a CRS from its origin: what a map shows reaches no farther. */
  mapReach: 1e9,
  /** Characters of a condition on the features of a layer of GeoServices. */
  geoServicesWhere: 8192,
  /** Positions in a response of a GeometryServer. */
  geometryPositions: 1_000_000,
  /** Bins of a query. */
  bins: 10_000,
  /** Classes of the numbers of a field. */
  classes: 100,
  /** Bytes of features in a GeoServices response. Clients request the rest with further pages. */
  geoServicesBytes: 33_554_432,
  /** An attachment: bytes, pixels of an image; and how many a feature has. */
  attachmentBytes: 10_485_760,
  /** Attachments of one feature. */
  featureAttachments: 100,
  /** Characters of the keywords of an attachment. */
  attachmentKeywords: 1024,
  /** Bytes of memory of the process of an import. */
  importMemoryBytes: 4_294_967_296,
  /** Milliseconds for reading the file of an import, where the configuration does not say it. */
  importReadMs: 7_200_000,
  /** Metadata of a layer: characters of its attribution, keywords, and characters of one. */
  layerAttribution: 512,
  layerKeywords: 100,
  layerKeyword: 100,
  /** Milliseconds within which a remote file must have arrived. */
  downloadMs: 1_800_000,
  /** Uploads of failed imports that wait to be tried again: how many, their bytes together, milliseconds. */
  keptUploads: 16,
  keptUploadBytes: 8_589_934_592,
  keptUploadMs: 86_400_000,
  /** Entries of an archive, bytes of one unpacked and of all, and how many times it may be compressed. */
  archiveEntries: 10_000,
  archiveEntryBytes: 4_294_967_296,
  archiveBytes: 8_589_934_592,
  archiveRatio: 200,
} as const;

/** Feature events that an outbox keeps (contract). */
export const OUTBOX_EVENTS = 20_000;
/** Milliseconds that the feed keeps an event, as long as there are no more than that. */
export const FEED_AGE_MS = 7 * 86_400_000;
