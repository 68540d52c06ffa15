export const EXCHANGE_LIMITS = {
  /** Resumable uploads that have not ended, and milliseconds after their last byte at which they are removed. */
  resumableUploads: 100,
  resumableUploadMs: 86_400_000,
  /** Tables of a file of the store that new collections go into; further ones go into a further file. */
  storeTables: 100,
  /** Layers of a migration batch (contract), jobs of it at a time, and characters of its manifest. */
  batchLayers: 500,
  batchJobs: 4,
  batchManifest: 262_144,
  /** Features of a GeoServices layer in one request. */
  geoServicesBatch: 5000,
  /** Attachments of a layer of another server that are imported, and bytes of all. */
  importedAttachments: 100_000,
  importedAttachmentBytes: 10_737_418_240,
  /** Coverages of another server that are imported in one request. */
  remoteCoverages: 200,
  /** Tiles of another server imported in one request, and concurrent tile requests. */
  remoteTiles: 2_000_000,
  remoteTileRequests: 8,
  /** Bytes of a tile package (contract). */
  tilePackageBytes: 2_147_483_648,
  /** Larger uploads are imported in the background. */
  importForegroundBytes: 4_194_304,
  /** Features of one import, and rows of one transaction of its staging file. */
  importFeatures: 100_000_000,
  importBatch: 65_536,
  /** Bytes of a file that is previewed. */
  previewBytes: 268_435_456,
  /** Stored records of uploads. */
  uploadRecords: 200,
  /** Bytes of one response of another server. */
  remotePageBytes: 67_108_864,
  /** One search of a STAC API: pages, and bytes of one and of all. */
  stacPages: 100,
  stacAnswerBytes: 16_777_216,
  stacSearchBytes: 134_217_728,
  /** Bytes of the link to a next page, URL or body. */
  stacNextBytes: 65_536,
  stacSceneFaults: 5,
  /** Folders of a catalog of another server, or pages of its list of collections, that are read. */
  remoteFolders: 100,
  /** Requests for reading a GeoServer, concurrent requests, bytes of one response and of all. */
  geoServerRequests: 20_000,
  geoServerLanes: 4,
  geoServerAnswerBytes: 8_388_608,
  geoServerBytes: 134_217_728,
  /** Gridsets of a GeoServer that are read. */
  geoServerGridsets: 200,
  /** Layers of a GeoServer migration, and members of a group, including nested groups. */
  geoServerLayers: 500,
  geoServerGroupMembers: 1000,
  /** Migrations whose evidence is kept. */
  evidencePacks: 50,
  /** Unpacked bytes of a spreadsheet, which is read into memory. */
  spreadsheetBytes: 268_435_456,
  /** Exports that one process streams at the same time, and of these the exports of one caller. */
  exportStreams: 16,
  exportStreamsPerCaller: 2,
  /** Export jobs of readers that wait or run, and of these the jobs of one caller. */
  readerExports: 50,
  readerExportsPerCaller: 4,
  /** Files of export jobs that a reader can have, and milliseconds for which they are kept. */
  readerFiles: 10,
  readerFileMs: 86_400_000,
  /** Free bytes on the disk below which export jobs of readers are refused. */
  readerFreeBytes: 1_073_741_824,
  /** Bytes of a row group of a Parquet file, of which one at a time is in memory. */
  parquetGroupBytes: 1_073_741_824,
} as const;
