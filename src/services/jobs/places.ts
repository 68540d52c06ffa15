/** Distribution of the places of one process over owners and sorts of jobs. */
export interface JobPlaces {
  /** Jobs of one owner. */
  readonly perOwner: number;
  /** Jobs of kinds that may take hours, of all owners and of one. */
  readonly long: number;
  readonly longPerOwner: number;
}

/**
 * One place stays free of long jobs, for imports and exports that people wait for, and one of long jobs stays free of those
 * of a single owner. With fewer than three places there is not room for both.
 */
export function sharePlaces(atOnce: number): JobPlaces {
  return {
    perOwner: Math.max(1, atOnce - 1),
    long: Math.max(1, atOnce - 1),
    longPerOwner: Math.max(1, atOnce - 2),
  };
}

/** A job that runs in this process. */
export interface PlacedJob {
  readonly owner: string;
  readonly isLong: boolean;
}

/** Jobs that this process does not take now: all jobs of some owners, and long jobs of all or some owners. */
export interface FullShares {
  readonly owners: readonly string[];
  readonly long: boolean;
  readonly ownersOfLong: readonly string[];
}

export function fullShares(running: readonly PlacedJob[], places: JobPlaces): FullShares {
  const long = running.filter(({ isLong }) => isLong);
  return {
    owners: atLimit(running, places.perOwner),
    long: long.length >= places.long,
    ownersOfLong: atLimit(long, places.longPerOwner),
  };
}

function atLimit(jobs: readonly PlacedJob[], limit: number): string[] {
  const owners = new Set(jobs.map(({ owner }) => owner));
  return [...owners].filter((owner) => jobs.filter((job) => job.owner === owner).length >= limit);
}
