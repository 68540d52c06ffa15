/** Commits of this server to a GeoPackage, by which it recognises commits of other programs. */
export interface FileWrites {
  /** Identity of the file. It changes if the file is replaced, but not if the file is written to. */
  fileId: string;
  /** Number of commits to the file before and after these commits. */
  before: number;
  after: number;
  /** Identity of the write-ahead log. See `LogCommits.log`. */
  log?: string;
  /** State of the file after these commits. See `sqliteState`. */
  state?: string;
}

/** Result of emptying the write-ahead log of a file. */
export interface EmptiedLog {
  /** False if readers or writers prevented it. */
  isEmpty: boolean;
  /** Commits in the file at that time. */
  writes?: FileWrites;
}
