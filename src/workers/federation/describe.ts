import type { FederatedTask, VectorLayerInfo } from '../../core/tasks/vector-tasks.js';
import type { AllowedHosts } from '../storage/remote/allowed-hosts.js';
import { Cancellation } from '../threads/cancellation.js';
import { nameFederatedSource } from './protocol.js';
import { findProtocol } from './source-pages.js';

/** Task `vector.federated`: a layer of another server, as its own documents and some features describe it. */
export async function describeFederatedSource(
  { setting }: FederatedTask,
  allowed: AllowedHosts,
  cancellation = new Cancellation(),
): Promise<VectorLayerInfo> {
  try {
    return await findProtocol(setting.kind).describe(setting, { allowed, cancellation });
  } catch (error) {
    throw nameFederatedSource(setting.id, error);
  }
}
