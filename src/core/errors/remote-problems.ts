/** Reason why a server could not be read, for programs. */
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

/** The reason with a message. */
export interface RemoteProblem {
  readonly reason: RemoteReason;
  readonly message: string;
}
