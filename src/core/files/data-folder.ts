/** Locked by the server that uses a data folder. */
export const LOCK_FILE = 'server.lock';
/** Folder of the logs of edited GeoPackages, in a data folder. */
export const LOGS_FOLDER = 'write-ahead-logs';

/** Whether a folder with these names in it is, or was, the data folder of a server. */
export const isDataFolder = (names: readonly string[]): boolean =>
  names.includes(LOCK_FILE) && names.includes(LOGS_FOLDER);
