/** Members of a mosaic that can lack some of them: an unreadable member costs only its own pixels. */

import { basename } from 'node:path';
import { mergeProblem } from '../../../../core/catalog/raster-sources.js';
import { TaskFailure, toUpstreamFailure } from '../../../../core/errors/failure.js';
import { RASTER_LIMITS } from '../../../../core/rasters/limits.js';
import type { Merge, MosaicMember, RasterSource } from '../../../../core/rasters/rasters.js';
import { boundedCache } from '../../../../core/values/bounded-cache.js';
import { mapInLanes } from '../../../../core/values/lanes.js';
import type { RasterOpener } from '../opener.js';
import { type MemberFacts, readMemberFacts } from './facts.js';

/** Milliseconds for which a damaged member is omitted before it is checked again. */
const DAMAGED_MS = 60_000;

export interface ReadableMember {
  member: MosaicMember;
  opening: RasterOpener;
  facts: MemberFacts;
}

export interface ReadableMembers {
  members: ReadableMember[];
  /** Ids of the omitted members. */
  lost: string[];
}

const faults = boundedCache<string, TaskFailure>(20_000, { ttl: DAMAGED_MS });

const buildKey = ({ source }: MosaicMember) => JSON.stringify(source);

/**
 * Marks a member as faulty. A failure of its host is not stored, because the reader of remote files decides when to
 * retry.
 */
function leaveOut(member: MosaicMember, failure: TaskFailure): void {
  if (!isAway(failure)) faults.set(buildKey(member), failure);
}

const isAway = ({ code }: TaskFailure) => code === 'store-unavailable';

/** The readable members with these band types. If none is readable, fails with the error of the first one. */
export async function readableMembers(
  members: readonly MosaicMember[],
  { crs, bandTypes, merge }: { crs: string; bandTypes: readonly string[]; merge?: Merge | undefined },
  openingOf: (source: RasterSource) => Promise<RasterOpener>,
): Promise<ReadableMembers> {
  const all = await mapInLanes(
    members,
    RASTER_LIMITS.sceneRequests,
    async (member): Promise<ReadableMember | TaskFailure> => {
      try {
        const fault = faults.get(buildKey(member));
        if (fault) return fault;
        const opening = await openingOf(member.source);
        const facts = await readMemberFacts(member, opening, crs);
        const isFit = hasTypes(facts, bandTypes) && !(merge && mergeProblem(facts.bands));
        return isFit ? { member, opening, facts } : misfit(member);
      } catch (error) {
        if (!(error instanceof TaskFailure)) throw error;
        leaveOut(member, error);
        return error;
      }
    },
  );
  const readable = all.filter((one): one is ReadableMember => !(one instanceof TaskFailure));
  const failures = all.filter((one): one is TaskFailure => one instanceof TaskFailure);
  if (readable.length === 0 && failures.length > 0)
    throw failures.find(isAway) ?? toUpstreamFailure(failures[0]);
  return {
    members: readable,
    lost: members.flatMap(({ id }, i) => (all[i] instanceof TaskFailure ? [id] : [])),
  };
}

const hasTypes = ({ bands }: MemberFacts, types: readonly string[]) =>
  bands.length === types.length && bands.every(({ type }, i) => type === types[i]);

const misfit = ({ id }: MosaicMember) =>
  new TaskFailure('source-unreadable', `The raster ${id} has other bands than the mosaic.`);

/** Omits the members at which a read failed. Returns whether there were any. */
export async function leaveOutFaulty(members: readonly ReadableMember[], error: unknown): Promise<boolean> {
  const text = error instanceof TaskFailure ? `${error.message} ${error.cause_}` : String(error);
  const names = new Set(text.match(/[\w.-]+/g));
  let isAny = false;
  for (const { member, opening } of members) {
    const { failure, changed } = (await opening.outcome?.(error)) ?? { changed: false };
    // A file that has changed or is no longer cached is read again; this does not count as damage.
    const isNamed = !changed && (opening.files ?? []).some((file) => names.has(basename(file)));
    if (failure || isNamed)
      leaveOut(
        member,
        failure ?? new TaskFailure('source-unreadable', `The raster ${member.id} is damaged.`),
      );
    isAny ||= failure !== undefined || isNamed || changed;
  }
  return isAny;
}
