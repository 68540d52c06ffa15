import type { Config } from '../../core/config/config.js';
import { ApiError, badMember } from '../../core/errors/errors.js';
import type { DeployRequest } from './operation-state.js';
import { describeReleases, type ObservedReleases, SERVERS_TARGET } from './rollout-target.js';

/** Whether an operation is possible now. */
export interface DeployPlan {
  readonly request: DeployRequest;
  readonly observed: ObservedReleases;
  /** Sentences. Empty: it is possible. */
  readonly blockingReasons: readonly string[];
  readonly warnings: readonly string[];
}

interface PlanFacts {
  readonly observed: ObservedReleases;
  /** Id of the operation that has the target. */
  readonly open: string | undefined;
  readonly settings: Pick<Config['deploy'], 'pinned'>;
}

const RELEASE = /^[\w.+-]{1,64}$/;

/** Throws `not-found` for an unknown target, and `invalid-body` for members that the target cannot use. */
export function planDeploy(request: DeployRequest, { observed, open, settings }: PlanFacts): DeployPlan {
  const { targetId, desiredRevision, currentRevision, parameters = {} } = request;
  if (targetId !== SERVERS_TARGET)
    throw new ApiError(
      'not-found',
      `targetId: there is no deploy target '${targetId.slice(0, 128)}'. The only target is '${SERVERS_TARGET}'.`,
    );
  for (const [member, value] of Object.entries({ desiredRevision, currentRevision }))
    if (value !== undefined && !RELEASE.test(value))
      throw badMember(
        member,
        `'${value.slice(0, 64)}' is not a release. Use 1 to 64 letters, digits and characters of . _ + -`,
      );
  const [name] = Object.keys(parameters);
  if (name !== undefined)
    throw badMember('parameters', `the target '${SERVERS_TARGET}' has no parameter '${name.slice(0, 64)}'`);
  const blockingReasons: string[] = [];
  if (settings.pinned.includes(SERVERS_TARGET))
    blockingReasons.push(`deploy.pinned contains '${SERVERS_TARGET}', so the servers keep their release.`);
  if (open !== undefined)
    blockingReasons.push(`The deploy operation ${open} has the target '${SERVERS_TARGET}'.`);
  if (observed.common === desiredRevision)
    blockingReasons.push(`All servers already run ${desiredRevision}.`);
  if (currentRevision !== undefined && currentRevision !== observed.common)
    blockingReasons.push(
      `currentRevision: '${currentRevision}' is not the release of all servers: ${describeReleases(observed)}.`,
    );
  return { request, observed, blockingReasons, warnings: listWarnings(desiredRevision, observed) };
}

function listWarnings(desired: string, observed: ObservedReleases): string[] {
  const warnings: string[] = [];
  if (observed.common === undefined)
    warnings.push(`The servers do not run one release: ${describeReleases(observed)}.`);
  if (observed.releases.some(({ release }) => isOlder(desired, release)))
    warnings.push(`${desired} is older than a release that runs. Read its notes about the state first.`);
  return warnings;
}

/** Whether the first numeric part that differs is lower. False if a part is not a number. */
function isOlder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((release) => release.split('.').slice(0, 3).map(Number));
  const differing = a!.findIndex((part, i) => part !== b![i]);
  return differing >= 0 && a![differing]! < (b![differing] ?? 0);
}
