import { formatActor, type Principal } from '../../../core/http/operation.js';
import type { Caller } from '../../../core/kit/callers.js';
import { computeClientNetwork } from '../../../core/kit/networks.js';

/** Returns the caller of a request. The keys of embedded maps are public, so their holders count as anonymous. */
export function requestCaller(principal: Principal, clientAddress: string): Caller {
  if (principal.kind === 'anonymous' || principal.kind === 'embed-key')
    return { class: 'anonymous', id: computeClientNetwork(clientAddress) };
  return { class: 'keyed', id: formatActor(principal) };
}
