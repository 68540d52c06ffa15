/** Kinds of events of the server, in the order in which events of the same time are listed. */
export const EVENT_KINDS = ['alert', 'audit', 'job', 'release', 'syncConflict', 'temporalOp', 'log'] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Kinds that the server records, and the permission to read them. It has no temporal operations. */
export const KIND_PERMISSIONS: Readonly<Record<Exclude<EventKind, 'temporalOp'>, string>> = {
  alert: 'admin:observability:read',
  audit: 'admin:audit:read',
  job: 'admin:jobs:read',
  release: 'admin:releases:read',
  syncConflict: 'admin:replicas:read',
  log: 'admin:observability:read',
};
