/** How urgent a job is, from the least: of the jobs that wait, the most urgent are run first. */
export const JOB_PRIORITIES = ['Low', 'Normal', 'High', 'Critical'] as const;
export type JobPriority = (typeof JOB_PRIORITIES)[number];

/** Urgencies of RFC 9218, 4.1 by their number: 3 is that of who says nothing. */
const OF_URGENCY: readonly JobPriority[] = ['Critical', 'High', 'High', 'Normal', 'Low', 'Low', 'Low', 'Low'];

/** The priority that a header `Priority: u=N` asks for (RFC 9218, 5). One that cannot be read says nothing. */
export function parsePriorityHeader(header: string | undefined): JobPriority {
  const urgency = /(?:^|,)[ \t]*u=([0-7])[ \t]*(?:[;,]|$)/.exec(header ?? '')?.[1];
  return urgency === undefined ? 'Normal' : OF_URGENCY[Number(urgency)]!;
}
