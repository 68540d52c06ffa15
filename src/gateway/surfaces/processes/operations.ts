import type { Method, Operation } from '../../../core/operation.js';
import { notBuilt } from '../common.js';

const PATH = '/ogc/processes';

/** The operations of the contract; all come with the process engine. */
const OPERATIONS: readonly (readonly [Method, string, string, string, string])[] = [
  ['GET', '', 'landing', 'Landing page', 'public'],
  ['GET', '/conformance', 'conformance', 'Conformance declaration', 'public'],
  ['GET', '/openapi.json', 'api', 'OpenAPI document', 'public'],
  ['GET', '/processes', 'getProcesses', 'Process list', 'public'],
  ['GET', '/processes/{processId}', 'getProcess', 'Process description', 'public'],
  ['POST', '/processes/{processId}/execution', 'execute', 'Execute a process', 'processes:execute'],
  ['GET', '/jobs', 'getJobs', 'Job list', 'processes:read'],
  ['GET', '/jobs/{jobId}', 'getJob', 'Job status', 'processes:read'],
  ['DELETE', '/jobs/{jobId}', 'dismissJob', 'Dismiss a job', 'processes:execute'],
  ['GET', '/jobs/{jobId}/results', 'getResults', 'Job results', 'processes:read'],
];

export function processesOperations(): Operation[] {
  return OPERATIONS.map(([method, path, name, summary, permission]) =>
    notBuilt({
      surface: 'processes',
      protocol: 'OGC-Processes',
      id: `processes.${name}`,
      method,
      path: PATH + path,
      summary,
      permission,
    }),
  );
}
