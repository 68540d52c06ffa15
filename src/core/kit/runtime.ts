/** Major versions of Node.js that the server runs on, as in `engines` of package.json. */
export const NODE_VERSIONS: readonly number[] = [20, 24];

/** The build of uWebSockets.js for Node.js 20 that loads with the C library of Debian 12. */
export const OLDER_UWS = 'uWebSockets.js';
/** Builds for Node.js 20 to 25, which need glibc 2.38. */
export const NEWER_UWS = '@btc-vision/uwebsockets.js';

/** Major version of Node.js in `process.version`. */
export function nodeVersion(version: string): number {
  return Number(/^v(\d+)\./.exec(version)?.[1]);
}

/** The package of uWebSockets.js that this version of Node.js loads. */
export function uwsPackage(version: string): typeof OLDER_UWS | typeof NEWER_UWS {
  return nodeVersion(version) === 20 ? OLDER_UWS : NEWER_UWS;
}

/** The SQLite package of Node.js 20, compiled when it is installed. */
export const OLDER_SQLITE = 'better-sqlite3';
/** The one for later versions, compiled already. On Node.js 20 it crashes. */
export const NEWER_SQLITE = 'better-sqlite3-13';

/** The package of SQLite that this version of Node.js loads. */
export function sqlitePackage(version: string): typeof OLDER_SQLITE | typeof NEWER_SQLITE {
  return nodeVersion(version) === 20 ? OLDER_SQLITE : NEWER_SQLITE;
}
