import { TaskFailure } from '../../../core/errors/failure.js';
import type { RemoteProblem, RemoteReason } from '../../../core/errors/remote-problems.js';
import type {
  RemoteRequest,
  RemoteService,
  ServiceAnswer,
  ServiceTask,
  SourceKind,
} from '../../../core/exchange/ingest.js';
import { discoverRemote, removeOgcParameters } from './discover/index.js';
import type { RemoteAccess } from './http.js';
import { unanswered } from './remote-problem.js';

/** Task `ingest.service`: fails only if it is cancelled. */
export async function describeKind(
  { kind, ...request }: ServiceTask,
  asking: RemoteAccess,
): Promise<ServiceAnswer> {
  const url = new URL(request.url);
  try {
    const { services, isCatalog } = await discoverRemote(
      { ...request, url: buildAddress(kind, request) },
      asking,
    );
    return chosen(kind, services, isCatalog) ?? { problem: absent(kind, url, services) };
  } catch (error) {
    if (!(error instanceof TaskFailure) || error.code === 'cancelled') throw error;
    return { problem: createProblem(error, url) };
  }
}

/** If the kind of service is known, its document is requested directly. */
function buildAddress(kind: SourceKind, { url: address }: RemoteRequest): string {
  const [, service] = /^ogc-(wfs|wms|wmts)$/.exec(kind) ?? [];
  if (service === undefined) return address;
  const url = new URL(removeOgcParameters(address));
  url.searchParams.set('SERVICE', service.toUpperCase());
  return url.href;
}

/** A GeoServices catalog lists services and does not have layers itself. */
function chosen(
  kind: SourceKind,
  services: readonly RemoteService[],
  isCatalog: boolean,
): RemoteService | undefined {
  const service = services.find((one) => one.kind === kind);
  return isCatalog && kind === 'arcgis-geoservices-rest' ? undefined : service;
}

function absent(kind: SourceKind, { host }: URL, services: readonly RemoteService[]): RemoteProblem {
  const names = services.map((one) => (one.kind === kind ? one.url : one.kind)).slice(0, 20);
  const others = names.length === 0 ? 'nothing that can be connected' : names.join(', ');
  return {
    reason: 'service-missing',
    message: `There is no ${kind} at this URL of ${host}, but ${others}.`,
  };
}

/** Reasons by status of the response. GeoServices have separate statuses for tokens. */
const STATUSES: Readonly<Record<string, [RemoteReason, string]>> = {
  401: ['password', 'does not accept the credentials'],
  498: ['password', 'does not accept the token'],
  499: ['password', 'wants a token'],
  403: ['rights', 'lets this user see nothing there'],
  404: ['service-missing', 'has nothing at this URL'],
  410: ['service-missing', 'no longer has anything at this URL'],
};

function createProblem(failure: TaskFailure, url: URL): RemoteProblem {
  const [, status = ''] = /returned (\d{3})/.exec(failure.message) ?? [];
  const [reason, words] = STATUSES[status] ?? [];
  if (reason !== undefined) return { reason, message: `${url.host} ${words} (${status}).` };
  if (failure.code === 'source-unreadable') return { reason: 'service-missing', message: failure.message };
  if (status !== '') return { reason: 'other', message: failure.message };
  return unanswered(failure, url);
}
