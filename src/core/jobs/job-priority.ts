/** Priorities of jobs, ascending. The most urgent waiting jobs run first. */
export const JOB_PRIORITIES = ['Low', 'Normal', 'High', 'Critical'] as const;
export type JobPriority = (typeof JOB_PRIORITIES)[number];

/** Priorities by urgency (RFC 9218, 4.1). The default urgency is 3. */
const OF_URGENCY: readonly JobPriority[] = ['Critical', 'High', 'High', 'Normal', 'Low', 'Low', 'Low', 'Low'];

/** Parses a header `Priority: u=N` (RFC 9218, 5). An invalid header has no effect. */
export function parsePriorityHeader(header: string | undefined): JobPriority {
  const urgency = /(?:^|,)[ \t]*u=([0-7])[ \t]*(?:[;,]|$)/.exec(header ?? '')?.[1];
  return urgency === undefined ? 'Normal' : OF_URGENCY[Number(urgency)]!;
}
