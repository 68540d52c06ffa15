import { expandNames } from '../../src/gateway/telemetry/absent-instruments.js';

export type InstrumentType = 'counter' | 'gauge' | 'histogram';

export interface ContractInstrument {
  name: string;
  type: InstrumentType;
  /** Labels, where the interface names them. */
  labels: readonly string[] | undefined;
}

/**
 * Every instrument that the interface names: C counter, H histogram, G gauge, U up-down counter, which is a gauge in an
 * exposition. `svc_cache_hit_ratio` is named twice, as a gauge and as a histogram; one name can have one type only.
 */
const TEXT = `
C svc.alerts.deliveries_{succeeded,failed,dead_lettered,rate_capped,suppressed,circuit_deferred}_total channel
C svc.alerts.dispatches_enqueued_total channel
C svc.alerts.events_emitted_total trigger
C svc.alerts.ops_notifications_total source,severity,outcome
H svc.alerts.delivery_latency channel,outcome
G svc.alerts.{dispatch_backlog_count,dispatch_dead_lettered_count,evaluation_no_leader}
C svc.streaming.sessions_opened_total transport
C svc.streaming.sessions_closed_total transport,reason
C svc.streaming.sessions_rejected_total
C svc.streaming.slow_consumer_drops_total transport
C svc.streaming.heartbeats_sent_total
C svc.streaming.replay_events_delivered_total transport
C svc.streaming.cluster_broadcast_dropped_total
G svc.streaming.{active_sessions,cluster_broadcast_backlog}
C svc.outbox.{dispatched,failed,dead_lettered,recovered_claims}_total
G svc.outbox.{pending_count,dead_lettered_count,oldest_pending_age_seconds}
C svc.event_sink.{published,failed,dead_lettered}_total
U svc.tile.jobs.queue_depth
C svc.tile.jobs.total operation,status
C svc.tile.{jobs.tiles_processed,archives.total}
C svc.tile.cache.{hits,misses,generated,deleted,expired,failed,bytes_released}
H svc.tile.{jobs.duration_ms,archives.size_bytes}
C svc.spec.{applies_started,applies_completed,nodes_processed,cache_lookups}
H svc.spec.{apply_duration_ms,node_duration_ms}
C svc.controlplane.execution.requests_total
C svc.controlplane.workflow.{requests,transitions}_total
H svc.controlplane.workflow.{duration,reconcile_duration}_ms
C svc.execution.{job.submitted,job.transitions_total,reconcile.cycle}
H svc.execution.job.duration_ms
G svc.execution.queue.depth svc_controlplane_execution_status,svc_controlplane_backend
C svc.orchestration.{runs_created,runs_completed,steps_completed,steps_retried}_total
H svc.orchestration.{run,step}_duration_ms
C svc.grounding.{result,spec.mutate.mutations,spec.mutate.turns,spec.summarize.count,spec.validation_failure}
H svc.grounding.spec.summarize.latency
C svc.mcp.{boundary.rejection,resource.read,tool.call}
C svc.reporting.{cache.hit.count,cache.miss.count,narrative.fallback.count,render.count,render.failure.count}
C svc.lambda.cold_start
H svc.lambda.init_duration_ms
G svc.lambda.memory_limit_mib
C svc.license.capacity.{registration_refusals,surge_mode_changes}
C svc.{analysis_content.operations_total,share.export.triggered}
G svc.{audit.chain_broken,db.connections.active}
C execution.admission.evaluated
C svc_request_error_total service_type,operation,error_code,in_band
C svc_geoservices_error_total service_type,operation,error_code
H svc_serving_request_duration_ms svc_protocol,svc_operation,status_class
C svc_application_errors_total error_type,operation,service_type
H svc_http_request_duration_ms method,endpoint,status_code
C svc_http_request_total method,endpoint,status_code
U svc_http_active_requests
H svc_database_query_duration_ms query_type,layer_id
H svc_database_query_records query_type,layer_id
C svc_database_query_total query_type,layer_id
C svc_gc_collection_total generation
C svc_cache_operation_total cache_type,operation
H svc_operation_duration_ms operation
C svc_operation_total operation,outcome
C svc_cache_{hits,misses,evictions,errors}_total cache_name
G svc_cache_hit_ratio cache_name
H svc_{cache_hit_ratio_detailed,cache_operation_duration_ms}
H svc_db_connection_acquisition_duration_ms
C svc_db_connection_{acquisition_failures,timeouts}_total
G svc_{db_active_connections,db_pool_size,db_pool_utilization_ratio}
H svc_{transaction,coordinate_transform,geometry_operation,geometry_transformation,spatial_query,spatial_filter}_duration_ms
C svc_{transaction,coordinate_transform,geometry_operation,geometry_transformation,spatial_query,spatial_filter}_total
H svc_{geometry_complexity_coordinates,error_recovery_duration_ms}
G svc_{memory_allocated_bytes,memory_pressure_percent,memory_usage_bytes,upload_queue_depth}
H svc_{memory_allocated_mb,memory_pressure_detailed}
C svc_memory_pressure_alerts_total
H svc_federation_source_duration_ms
C svc_federation_source_{requests,rows}_total
H svc_plugin_duration_ms
C svc_plugin_{invocations,failures}_total
C svc_sensorthings_observation_stream_drops_total
`;

const TYPES: Record<string, InstrumentType> = { C: 'counter', H: 'histogram', G: 'gauge', U: 'gauge' };

export const CONTRACT_INSTRUMENTS: readonly ContractInstrument[] = TEXT.trim()
  .split('\n')
  .flatMap((line) => {
    const [type, pattern, labels] = line.split(' ') as [string, string, string | undefined];
    return expandNames(pattern).map((name) => ({ name, type: TYPES[type]!, labels: labels?.split(',') }));
  });
