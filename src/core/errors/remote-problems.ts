/** What keeps a server from being read, as a word for programs. */
export type RemoteReason =
  | 'host-not-allowed'
  | 'name-not-found'
  | 'refused'
  | 'unreachable'
  | 'timeout'
  | 'tls-unavailable'
  | 'certificate'
  | 'password'
  | 'rights'
  | 'bucket-missing'
  | 'service-missing'
  | 'region'
  | 'clock'
  | 'other';

/** The same for people, too. */
export interface RemoteProblem {
  readonly reason: RemoteReason;
  readonly message: string;
}
