/** The one place for limits. Numbers named in the interface contract are fixed; the others are our choice. */
export const LIMITS = {
  /** Items per page of a feature collection: default and range (contract). */
  itemsDefault: 1000,
  itemsMax: 2000,
  /** Items of a STAC page: default and most (contract); bytes that end one before it is full, and matches counted. */
  stacDefault: 10,
  stacMax: 10_000,
  stacPageBytes: 33_554_432,
  stacCounted: 100_000,
  /** Features of an export that is answered at once, and days that the file of one that is a job is kept. */
  exportFeatures: 50_000,
  exportDays: 7,
  /** Features that the size of a download is estimated from, and bytes of one reading of them. */
  sizeSample: 100,
  sizeSampleBytes: 4_194_304,
  /** Largest offset of an items page. */
  offsetMax: 1_000_000_000,
  /** Pixels per side of a coverage (contract). */
  coverageSide: 8192,
  /** Bytes of a coverage before compression: about what can be written within the time of a request. */
  coverageBytes: 268_435_456,
  /** Bytes of values that are written as LERC, which are all in memory. */
  lercBytes: 33_554_432,
  /** Pixels of an area whose values are counted: 32 bytes of memory each at most. */
  histogramPixels: 4_194_304,
  /** Results kept in a process for clients that read parts of them: how many, and bytes of all; one may have more. */
  partialReplies: 64,
  partialBytes: 536_870_912,
  /** Pixels per side of a rendered map (contract). */
  mapSide: 4096,
  mapSideDefault: 256,
  /** Lines of a legend. */
  legendEntries: 150,
  /** Collections in one map or dataset tile. */
  collectionsPerRequest: 64,
  /** Largest zoom of the built-in tile matrix sets. */
  tileZoom: 24,
  /** A JSON request body, where its operation says nothing else: bytes, levels, values, members of objects. */
  bodyBytes: 1_048_576,
  bodyDepth: 72,
  bodyValues: 50_000,
  bodyNames: 20_000,
  /** The same of a body that nobody with a key has sent, and bytes of one string in it. No operation takes more. */
  anonymousBodyBytes: 524_288,
  anonymousBodyValues: 10_000,
  anonymousBodyNames: 2500,
  anonymousBodyString: 8192,
  /** A feature or a batch of them: bytes (contract), values, members. */
  editBytes: 26_214_400,
  editValues: 5_000_000,
  editNames: 200_000,
  /** A search or an analytics operation, whose geometry may be large. CQL2 JSON has two levels per operator. */
  searchBytes: 8_388_608,
  searchDepth: 256,
  searchValues: 400_000,
  /** Fields of a form. */
  formFields: 100,
  /** JSON in a parameter, a field or a frame: levels, values, members. */
  textDepth: 256,
  textValues: 50_000,
  textNames: 10_000,
  /** Bytes of a body that the event loop parses itself; larger ones are parsed by a worker. */
  loopBodyBytes: 65_536,
  /** Bytes of a body above which it is read in a turn of the event loop of its own. */
  turnBodyBytes: 4096,
  /** Bytes of all bodies that are being received, and of those of anonymous clients. */
  receivedBytes: 268_435_456,
  anonymousReceivedBytes: 33_554_432,
  /** Bytes of a request line (path and query). */
  urlBytes: 8192,
  /** Request line and headers together. */
  headBytes: 32_768,
  /** Characters of a filter in CQL2 text. */
  filterCharacters: 65_536,
  /** Operators, literals and property names in one filter; positions of its geometries count apart. */
  filterNodes: 10_000,
  /** Characters of a pattern of LIKE. */
  filterPattern: 10_000,
  /** Levels of nesting of a filter. */
  filterDepth: 100,
  /** Positions of all the geometries in one filter. */
  filterPositions: 100_000,
  /** Features that an analytics operation reads (contract). */
  analyticsInput: 100_000,
  /** Clusters of one answer (contract). */
  clusters: 10_000,
  /** Cells of one density grid (contract). */
  densityCells: 10_000,
  /** Cells of one H3 aggregation (contract), and features that it reads. */
  h3Cells: 100_000,
  h3Input: 2_000_000,
  /** Features that statistics of the attributes read, fields that they are of, and milliseconds after which they end. */
  statisticsRows: 5_000_000,
  statisticsFields: 100,
  statisticsMs: 10_000,
  /** Steps of a raster that are read at one place. */
  positionSteps: 1000,
  /** Pairs that a spatial join finds before it ends. */
  joinPairs: 1_000_000,
  /** Features that a process could not do, of which it says why. */
  processFaults: 100,
  /** Properties of features that are sent: each becomes a column. */
  processProperties: 1000,
  /** Groups that features are dissolved into. */
  processGroups: 1_000_000,
  /** Statistics of all groups, or of all cells, of a process together. */
  processStatistics: 5_000_000,
  /** Pixels of a viewshed. */
  viewshedPixels: 268_435_456,
  /** Pairs of points and pixels that an interpolation compares. */
  interpolationPairs: 20_000_000_000,
  /** Rasters that a process takes together. */
  processRasters: 32,
  /** Zones that statistics of a raster are made in. */
  processZones: 1_000_000,
  /** Different values of a zone, where its statistics need all of them. */
  zoneValues: 16_777_216,
  /** Bytes of geometries that a process takes together, and of those that it dissolves into several groups. */
  processTogetherBytes: 536_870_912,
  processGroupBytes: 2_147_483_648,
  /** Bytes up to which a layer that others are compared with is held in memory. */
  processHeldBytes: 67_108_864,
  /** Features of an overlay whose envelopes meet that of a thousand neighbours. */
  processWindow: 1_000_000,
  /** Numbers that the percentiles of a summary are taken of. */
  processValues: 20_000_000,
  /** Features whose places a process compares, and cells that one makes. */
  processPlaces: 5_000_000,
  processCells: 1_000_000,
  /** Pairs of features that a distance matrix has, or of which a join or an overlay makes features. */
  processPairs: 10_000_000,
  /** Pairs that are in memory together, and between two looks at whether the job is to stop: those of one feature at least. */
  processPieces: 100_000,
  /** Features among which the nearest ones are looked for at a time. */
  processNearest: 20_000,
  /** Milliseconds that a statement of a process may take, and between looks of the database at whether the process is there. */
  processStatementMs: 21_600_000,
  processClientMs: 2000,
  /** Bytes of the body of an execution, and of a file that it names. */
  processBodyBytes: 8_388_608,
  /** Milliseconds between what subscribers of a process are told of its progress. */
  callbackProgressMs: 5000,
  /** Lines of its log that the page of a job shows. */
  processLogLines: 500,
  /** Executions of one caller and of all that wait for approval, bytes of one, and days that it is kept. */
  proposals: 100,
  proposalsOfAll: 1000,
  proposalBytes: 65_536,
  proposalDays: 90,
  /** Proposals of a list, and the newest that are looked at for it. */
  proposalsListed: 1000,
  proposalsRead: 10_000,
  /** Steps of a plan, and bytes that these leave for each other where the settings do not say. */
  planSteps: 50,
  planSpoolBytes: 8_589_934_592,
  /** Milliseconds that counting features for an estimate may take. */
  estimateMs: 2000,
  /** Bytes of memory of the process of a job where the settings do not say. */
  processMemoryBytes: 4_294_967_296,
  processFileBytes: 268_435_456,
  /** Addresses of tiles that an archive of a process covers: all of the world down to zoom 11. */
  processTiles: 5_592_405,
  /** Days that results are there. */
  processResultDays: 7,
  /** Statistics asked of one analytics operation. */
  statistics: 50,
  /** Seconds within which a request body must have arrived. */
  bodySeconds: 60,
  /** What is taken of a body after its refusal, before the answer goes out and the connection is closed. */
  lingerBytes: 67_108_864,
  lingerMs: 2000,
  lingerQuietMs: 200,
  /** Milliseconds a request may wait for and use a worker. */
  requestDeadlineMs: 30_000,
  /** Milliseconds that one statement of an edit can take. The store ends it before the request times out. */
  editStatementMs: 29_000,
  /** Milliseconds after which PostGIS undoes an edit of which it hears nothing. */
  idleTransactionMs: 5000,
  /** Evaluations of a condition on a row, and pixels of an image, above which a task counts as heavy. */
  heavySteps: 1_000_000,
  heavyPixels: 4_194_304,
  /** Heavy requests of one address that may run or wait at the same time, where no key comes with them. */
  heavyPerAddress: 8,
  /** Estimated steps above which the request of an anonymous client is refused. */
  anonymousSteps: 100_000_000,
  /** Queued tasks per pool before requests are answered 503. */
  poolQueue: 512,
  /** Milliseconds that a task may be expected to wait for a worker before requests are answered 503. */
  poolWaitMs: 5000,
  /** Response bytes that may wait unsent for one slow client before the producer pauses. */
  sendBuffer: 262_144,
  /** Answers in parts that are compressed at once; further ones are sent as they are. */
  compressedStreams: 128,
  /** Bytes of large answers that all slow clients together may leave unread before the slowest are cut off. */
  unsentBytes: 268_435_456,
  /** Bytes of a vector tile before compression, which about halves them: beyond it features are dropped. */
  tileBytes: 1_048_576,
  /** The same of a layer that is encoded for a map. */
  mapLayerBytes: 67_108_864,
  /** Bytes of a stored tile once it is inflated. */
  inflatedTileBytes: 67_108_864,
  /** Bytes of a stored tile, inflated, that is taken over into the other encoding of vector tiles. */
  transcodedTileBytes: 8_388_608,
  /** Bytes of geometries read for one layer, 256 more per row, from which on an overview of its table is made. */
  tileWork: 8_388_608,
  /** Bytes of all overviews together; beyond it the oldest are removed. */
  overviewBytes: 53_687_091_200,
  /** Bytes of the in-memory tile cache. */
  tileCacheBytes: 268_435_456,
  /** Changes that may wait for one stream client that does not read (contract). */
  streamBuffer: 256,
  /** Milliseconds that a stream client may leave unread what it was sent. */
  streamStallMs: 10_000,
  /** Sessions of streams that may be open at once (contract). */
  streamSessions: 256,
  /** Of these, those without a key from one address, and those of one key. */
  streamSessionsPerAddress: 64,
  streamSessionsPerKey: 128,
  /** Characters of the filters, as JSON, of all subscriptions of clients without a key from one address, and of one key. */
  streamFiltersPerAddress: 1_048_576,
  streamFiltersPerKey: 8_388_608,
  /** WebSockets that listen to alerts at once. */
  alertSubscribers: 64,
  /** Subscriptions of one session, and characters of the id of one (contract). */
  streamSubscriptions: 64,
  subscriptionId: 128,
  /** Bytes of a frame from a client (contract). */
  controlFrameBytes: 65_536,
  /** Features and bytes of a snapshot, and rows looked at for it (contract). */
  snapshotFeatures: 5000,
  snapshotBytes: 4_194_304,
  /** Bytes of a snapshot in one frame for who has no key. */
  anonymousSnapshotBytes: 1_048_576,
  /** Bytes read at once for a snapshot, and how many are read at once for clients with and without a key. */
  snapshotPageBytes: 65_536,
  snapshotTurns: 4,
  anonymousSnapshotTurns: 2,
  /** Milliseconds that one filter of a subscription may take for the events of a batch. */
  matchMs: 1000,
  snapshotScanRows: 20_000,
  /** Entries of the feed that are read at once for one who is behind (contract). */
  replayBatch: 200,
  /** Seconds for which access tokens hold: those of programs, and those that a session is given. */
  clientTokenSeconds: 3600,
  sessionTokenSeconds: 900,
  /** Milliseconds that an OpenID provider may take for an answer, and bytes of one. */
  providerMs: 10_000,
  providerBytes: 1_048_576,
  /** Milliseconds for which a key that was valid is believed while the state database does not answer. */
  keyTrustMs: 300_000,
  /** Bytes of events in one page of a replay; there is always one event. */
  replayBytes: 16_777_216,
  /** Milliseconds between two heartbeats (contract). */
  heartbeatMs: 30_000,
  /** Bytes of the newest events kept in memory. */
  feedBytes: 67_108_864,
  /** Attempts to deliver an event to a webhook (contract), milliseconds of one, and deliveries that may wait for one. */
  webhookAttempts: 5,
  webhookMs: 10_000,
  webhookBacklog: 10_000,
  /** Bytes of single features kept as answers, and the longest such answer in characters. */
  keptItemsBytes: 33_554_432,
  keptItemBytes: 65_536,
  /** Milliseconds that a tile made from a database is served again: others may write to it unseen. */
  databaseTileMs: 60_000,
  /** Levels of arrays and objects in a geometry, and in the value of a property. */
  jsonDepth: 64,
  /** Requests with an idempotency key that are remembered for a day, and characters of an answer that is kept. */
  idempotencyKeys: 100_000,
  idempotentReplyBytes: 4_194_304,
  /** Operations of one batch of edits (contract). */
  batchOperations: 1000,
  /** Features that one calculation changes. */
  calculatedFeatures: 10_000,
  /** Requests to the object store at a time, of each process. */
  storageRequests: 16,
  /** Edits of one store that may wait for the one that runs; more are answered 503. */
  editQueue: 256,
  /** Events that a merge writes one by one; a larger one is told as a gap. */
  mergeEvents: 10_000,
  /** Rejected rows of a merge that its result names, and that its list has. */
  mergeNamed: 100,
  mergeListed: 100_000,
  /** Milliseconds after which PostGIS undoes a merge of which it hears nothing. */
  mergeIdleMs: 60_000,
  /** Milliseconds that one statement of a merge may take. */
  mergeStatementMs: 600_000,
  /** Days for which a store remembers that a merge was carried out. */
  mergeReceiptDays: 30,
  /** Boxes that tell where an edit changed something; more are gathered. */
  editAreas: 64,
  /** Areas of past edits that are remembered per collection. */
  loggedAreas: 1024,
  /** Look-ups of tiles on disk that may wait; more go without. */
  levelQueue: 256,
  /** Bytes of tiles that may wait to be written to disk or to Redis; more are not written. */
  levelQueueBytes: 33_554_432,
  /** Bytes of tiles on disk, where there is a folder for them. */
  diskTileBytes: 4_294_967_296,
  /** Connections of one gateway process to a state in PostgreSQL. */
  stateConnections: 100,
  /** Milliseconds that a tile in Redis may take; then it is made. */
  redisMs: 50,
  /** Characters, parts and levels of nesting of band math. */
  expressionCharacters: 2000,
  expressionNodes: 250,
  expressionDepth: 60,
  /** Bands that one image is made of. */
  lookBands: 16,
  /** Colours of a colour map that a request brings along. */
  colormapEntries: 256,
  /** Bytes of a style in SLD (contract), levels of nesting, and rules of one. */
  sldBytes: 1_048_576,
  sldDepth: 64,
  sldRules: 1000,
  /** Characters of what a style in SLD becomes. */
  sldStyleBytes: 1_048_576,
  /** Classes of a renderer of a drawingInfo. */
  drawingClasses: 1000,
  /** Diagnostics of one translation of a style. */
  styleDiagnostics: 200,
  /** Ranges of glyphs that may wait to be made, and bytes of those that are kept. */
  symbolQueue: 64,
  glyphBytes: 33_554_432,
  /** Characters, values and levels of nesting of a style, its layers, and errors of it that are told at once. */
  styleCharacters: 1_048_576,
  styleNodes: 50_000,
  styleDepth: 64,
  styleLayers: 500,
  styleErrors: 20,
  /** Styles of a table that its file may bring along. */
  fileStyles: 20,
  /** Versions of a layer's style that are kept. */
  styleVersions: 100,
  /** Samples (pixels of all bands) of a raster that is imported. */
  importSamples: 16_000_000_000,
  /** Refused requests that become audit rows in a minute; each address and operation has one. */
  refusalsPerMinute: 60,
  /** Bytes of a world file or of a text that holds a CRS (contract). */
  sidecarBytes: 65_536,
  /** Bytes of an uploaded file for import, and bytes that are held back while it is written. */
  uploadBytes: 4_294_967_296,
  uploadBuffer: 65_536,
  /** Reference data of a locator: bytes of a file (contract), its columns, characters of a value, rows left out that are told, imports that wait. */
  geocodeFileBytes: 268_435_456,
  geocodeColumns: 1000,
  geocodeValue: 500,
  geocodeSkipped: 100,
  geocodeImports: 4,
  /** Words of a text that is geocoded, characters of one and of all; candidates of an answer, and rows that are compared for it. */
  geocodeWords: 20,
  geocodeWord: 40,
  geocodeText: 500,
  geocodeCandidates: 50,
  geocodeRows: 300,
  /** Suggestions of an answer. */
  geocodeSuggestions: 15,
  /** Characters of the key of a suggestion. */
  geocodeKey: 5000,
  /** Addresses of a batch, and of one task of it. */
  geocodeBatch: 1000,
  geocodeSuggestedBatch: 100,
  geocodeTurn: 5,
  /** Metres around a location in which its address is looked for: as usual, and at most. */
  geocodeReach: 10_000,
  geocodeReachMax: 100_000,
  /** Answers of other geocoders that are kept. */
  geocodeKept: 1000,
  /** Resumable uploads that have not ended, and milliseconds after their last byte at which they are removed. */
  resumableUploads: 100,
  resumableUploadMs: 86_400_000,
  /** Tables of a file of the store that new collections go into; further ones go into a further file. */
  storeTables: 100,
  /** Layers of a migration batch (contract), jobs of it at a time, and characters of its manifest. */
  batchLayers: 500,
  batchJobs: 4,
  batchManifest: 262_144,
  /** Features of a layer of GeoServices that are asked for at once, and characters of a condition on them. */
  /** Units of a CRS from its origin: what a map shows reaches no farther. */
  mapReach: 1e9,
  geoServicesBatch: 5000,
  geoServicesWhere: 8192,
  /** Features of an answer of GeoServices: where none is asked for, and at most. Ids of one. */
  geoServicesRecords: 1000,
  geoServicesRecordsMax: 10_000,
  geoServicesIds: 1_000_000,
  /** Geometries that a GeometryServer takes at once, positions of its answer, pairs that it relates, distances of a buffer, bytes of memory of its process, and requests that wait for one. */
  geometries: 10_000,
  geometryPositions: 1_000_000,
  geometryPairs: 1_000_000,
  geometryDistances: 100,
  geometryMemoryBytes: 1_073_741_824,
  geometryQueue: 64,
  /** Bins of a query, and values that split them. */
  bins: 10_000,
  binSplits: 50,
  /** Classes of the numbers of a field. */
  classes: 100,
  /** Statistics that one query of GeoServices asks for. */
  geoServicesStatistics: 50,
  /** Bytes of features of such an answer: what is left is there to be asked for. */
  geoServicesBytes: 33_554_432,
  /** Services whose ids as items of the portal are remembered. */
  portalItems: 20_000,
  /** Replicas of a service, those of one owner, and milliseconds after their last synchronisation at which they end. */
  serviceReplicas: 10_000,
  ownerReplicas: 100,
  /** Replicas of a service that one address has without a key. */
  addressReplicas: 20,
  replicaMs: 7 * 86_400_000,
  /** Bytes of what a replica gets at once, and how many such answers are made at a time. */
  replicaBytes: 33_554_432,
  replicaTurns: 2,
  /** Of them, those of callers without a key. */
  anonymousReplicaTurns: 1,
  /** Features that changed since a generation, and bytes of what they were and are. */
  replicaChanges: 50_000,
  replicaChangeBytes: 67_108_864,
  /** Edits of one synchronisation, and conflicts of a replica that are not resolved. */
  replicaEdits: 1000,
  replicaConflicts: 10_000,
  /** Milliseconds that a synchronisation waits until the feed tells of all edits. */
  replicaSettleMs: 20_000,
  /** An attachment: bytes, pixels of an image; and how many a feature has. */
  attachmentBytes: 10_485_760,
  /** Files that are received at a time before their callers are known: a token may be behind the file. */
  unknownAttachments: 3,
  attachmentPixels: 100_000_000,
  featureAttachments: 100,
  /** Characters of the name of an attachment, and of its keywords. */
  attachmentName: 255,
  attachmentKeywords: 1024,
  /** Attachments of a layer of another server that are imported, and bytes of all. */
  importedAttachments: 100_000,
  importedAttachmentBytes: 10_737_418_240,
  /** Attachments that one answer lists, or ids in one request; and that are left out before them. */
  attachmentsListed: 1000,
  attachmentOffset: 100_000,
  /** Milliseconds that bytes are kept which nobody has attached yet, or any more. */
  attachmentOrphanMs: 3_600_000,
  /** Milliseconds that attachments are kept whose file was replaced by another one: it may return. */
  attachmentAsideMs: 2_592_000_000,
  /** Milliseconds between two looks for attachments that nobody has any more. */
  attachmentSweepMs: 3_600_000,
  /** Coverages of another server that are imported in one request. */
  remoteCoverages: 200,
  /** Tiles of another server that are imported in one request, and those of them that are asked for at a time. */
  remoteTiles: 2_000_000,
  remoteTileRequests: 8,
  /** Bytes of a tile package (contract). */
  tilePackageBytes: 2_147_483_648,
  /** Larger uploads are imported in the background. */
  importForegroundBytes: 4_194_304,
  /** Features of one import, rows of one transaction of its staging file, and bytes of memory of its process. */
  importFeatures: 100_000_000,
  importBatch: 65_536,
  importMemoryBytes: 4_294_967_296,
  /** Milliseconds for looking into a tile package that is a database. */
  packageReadMs: 600_000,
  /** Milliseconds for reading the file of an import, where the configuration does not say it. */
  importReadMs: 7_200_000,
  /** Bytes of a file that is previewed, features of its sample, and uploads that are remembered. */
  previewBytes: 268_435_456,
  previewFeatures: 100,
  uploadRecords: 200,
  /** Bytes of one answer of another server, requests to them at a time, and how many wait. */
  remotePageBytes: 67_108_864,
  ingestRequests: 8,
  ingestQueue: 64,
  /** Scenes of a mosaic of a STAC API: where its source does not say, and at most. */
  stacScenesDefault: 500,
  stacScenes: 2000,
  /** One search of a STAC API: pages, bytes of one and of all, milliseconds, and scenes that are left out by name. */
  stacPages: 100,
  stacAnswerBytes: 16_777_216,
  stacSearchBytes: 134_217_728,
  stacSearchMs: 30_000,
  /** Bytes of what the link to a next page asks for, address or body. */
  stacNextBytes: 65_536,
  stacSceneFaults: 5,
  /** Searches of STAC APIs at a time; others wait, of those for windows so many that with these there are `stacWindowSearches`. */
  stacSearches: 4,
  stacWindowSearches: 16,
  /** Searches for windows that are remembered, their bytes, and scenes of one: where its source does not say, and at most. */
  stacWindows: 1000,
  stacWindowBytes: 67_108_864,
  stacWindowScenesDefault: 100,
  stacWindowScenes: 250,
  /** Scenes of a mosaic that are opened at a time. */
  sceneRequests: 16,
  /** Folders of a catalog of another server, or pages of its list of collections, that are read. */
  remoteFolders: 100,
  /** Requests of one reading of a GeoServer, those at a time, bytes of one answer and of all. */
  geoServerRequests: 20_000,
  geoServerLanes: 4,
  geoServerAnswerBytes: 8_388_608,
  geoServerBytes: 134_217_728,
  /** Gridsets of a GeoServer that are read. */
  geoServerGridsets: 200,
  /** Of what a layer says of itself: characters of its attribution, keywords, and characters of one. */
  layerAttribution: 512,
  layerKeywords: 100,
  layerKeyword: 100,
  /** Layers of one migration of a GeoServer, and members of one group, those of groups in it too. */
  geoServerLayers: 500,
  geoServerGroupMembers: 1000,
  /** Migrations whose evidence is kept. */
  evidencePacks: 50,
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
  /** Unpacked bytes of a spreadsheet: it is held in memory. */
  spreadsheetBytes: 268_435_456,
  /** Bytes of a row group of a Parquet file, of which one at a time is in memory. */
  parquetGroupBytes: 1_073_741_824,
} as const;

/** Feature events that an outbox keeps (contract). */
export const OUTBOX_EVENTS = 20_000;
/** Milliseconds that the feed keeps an event, as long as there are no more than that. */
export const FEED_AGE_MS = 7 * 86_400_000;
