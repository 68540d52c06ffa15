export const OPERATE_LIMITS = {
  /** Open proposals of one caller and of all callers, and days after which a proposal can no longer be approved. */
  proposals: 100,
  proposalsOfAll: 1000,
  approvalDays: 30,
  /** Bytes of the parameters of one proposal, and days that it is kept. */
  parameterBytes: 65_536,
  proposalDays: 90,
  /** Proposals in a list. */
  proposalsListed: 1000,
  /** Lines of a diff or of a dry run, and characters of a line. */
  planLines: 500,
  planCharacters: 1000,
} as const;
