import { ApiError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/http/operation.js';
import type { SceneDataset } from '../../core/scenes/scenes.js';
import { permits } from '../access/permissions.js';

/** Permission whose holders read all scenes. */
export const READ_SCENES = 'admin:scenes:read';

/** Returns why a caller may not read a scene: without credentials, or without a role. Undefined if it may. */
export function findRefusal(
  principal: Principal,
  scene: SceneDataset,
): 'unauthenticated' | 'forbidden' | undefined {
  const { isPublic, requiresAuth, allowedRoles } = scene;
  const needsRole = allowedRoles !== null && allowedRoles.length > 0;
  if (isPublic && !requiresAuth && !needsRole) return undefined;
  if (principal.kind === 'anonymous') return 'unauthenticated';
  if (!needsRole || permits(principal, READ_SCENES)) return undefined;
  const roles = principal.roles ?? [];
  return allowedRoles.some((role) => roles.includes(role)) ? undefined : 'forbidden';
}

/** Throws `unauthenticated` or `forbidden` for a caller who may not read a scene. */
export function requireReader(principal: Principal, scene: SceneDataset): void {
  const refusal = findRefusal(principal, scene);
  if (!refusal) return;
  const detail = refusal === 'forbidden' ? 'You may not read' : 'Credentials are required to read';
  throw new ApiError(refusal, `${detail} the scene '${scene.id}'.`);
}
