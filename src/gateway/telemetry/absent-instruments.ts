/**
 * Instruments of the interface contract that this server does not have, by reason. Braces contain alternatives.
 */
export const ABSENT_INSTRUMENTS: readonly (readonly [reason: string, names: readonly string[]])[] = [
  [
    'Manifests are applied in one transaction, without a cache: their objects have no durations of their own.',
    ['svc.spec.{cache_lookups,node_duration_ms}'],
  ],
  [
    'There is no control plane and there are no workflows. Jobs are counted in `svc.execution.*`.',
    [
      'svc.controlplane.execution.requests_total',
      'svc.controlplane.workflow.{requests,transitions}_total',
      'svc.controlplane.workflow.{duration,reconcile_duration}_ms',
    ],
  ],
  [
    'There is no language model and no Model Context Protocol.',
    [
      'svc.grounding.{result,spec.mutate.mutations,spec.mutate.turns}',
      'svc.grounding.{spec.summarize.count,spec.validation_failure,spec.summarize.latency}',
      'svc.mcp.{boundary.rejection,resource.read,tool.call}',
      'svc.reporting.narrative.fallback.count',
    ],
  ],
  ['The server does not run as a function.', ['svc.lambda.{cold_start,init_duration_ms,memory_limit_mib}']],
  [
    'The capacity of the licence only warns: no server is refused.',
    ['svc.license.capacity.registration_refusals'],
  ],
  [
    'There is no stored content of analyses and no sharing.',
    ['svc.analysis_content.operations_total', 'svc.share.export.triggered'],
  ],
  ['There are no plug-ins.', ['svc_plugin_{duration_ms,invocations_total,failures_total}']],
  ['SensorThings is not served.', ['svc_sensorthings_observation_stream_drops_total']],
];

/** Expands a pattern with braces to names. */
export function expandNames(pattern: string): string[] {
  const match = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern);
  if (!match) return [pattern];
  const [, before, names, after] = match;
  return names!.split(',').flatMap((name) => expandNames(before! + name + after!));
}
