import {
  type Context,
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

const tracer = trace.getTracer('Graticule', '1.0.0');

/** Set once tracing is exported; otherwise no span is made and no header is read. */
let enabled = false;
export function enableTracing(): void {
  enabled = true;
}

/** The span of one request, and the context that spans of its tasks hang under. */
export interface RequestSpan {
  readonly span: Span;
  readonly context: Context;
  readonly traceId: string;
  readonly spanId: string;
}

/** Starts `svc.http.request`, continuing the caller's trace (W3C Trace Context). */
export function startRequestSpan(x: { header(name: string): string | undefined }): RequestSpan | undefined {
  if (!enabled) return undefined;
  const parent = propagation.extract(context.active(), {
    traceparent: x.header('traceparent'),
    tracestate: x.header('tracestate'),
  });
  const span = tracer.startSpan('svc.http.request', { kind: SpanKind.SERVER }, parent);
  const { traceId, spanId } = span.spanContext();
  return { span, context: trace.setSpan(parent, span), traceId, spanId };
}

/** Runs a stage as a child span of the request. */
export async function withSpan<T>(
  parent: RequestSpan | undefined,
  name: string,
  attributes: Record<string, string | number>,
  work: () => Promise<T>,
): Promise<T> {
  if (!parent) return work();
  const span = tracer.startSpan(name, { attributes }, parent.context);
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).message });
    throw error;
  } finally {
    span.end();
  }
}
