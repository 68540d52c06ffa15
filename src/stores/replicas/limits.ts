export const REPLICA_LIMITS = {
  /** Maximum number of replicas of a service, and of one owner. */
  serviceReplicas: 10_000,
  ownerReplicas: 100,
  /** Maximum number of replicas of a service that clients without a key create from one IP address. */
  addressReplicas: 20,
  /** Milliseconds without a synchronisation after which a replica expires. */
  replicaMs: 7 * 86_400_000,
  /** Maximum bytes of a replica response, and number of such responses that are created at the same time. */
  replicaBytes: 33_554_432,
  replicaTurns: 2,
  /** Number of these responses for callers without a key. */
  anonymousReplicaTurns: 1,
  /** Maximum number of features that changed since a generation, and bytes of their former and present states. */
  replicaChanges: 50_000,
  replicaChangeBytes: 67_108_864,
  /** Maximum number of unresolved conflicts of a replica. */
  replicaConflicts: 10_000,
  /** Milliseconds that a synchronisation waits until the feed contains all edits. */
  replicaSettleMs: 20_000,
} as const;
