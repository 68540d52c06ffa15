import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

const tracer = trace.getTracer('Graticule', '1.0.0');

/** Set once tracing is exported. Until then, no span is created and no header is read. */
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
  return spanIn(parent, tracer.startSpan('svc.http.request', { kind: SpanKind.SERVER }, parent));
}

export interface SpanFacts {
  name: string;
  attributes: Record<string, string | number>;
}

/** A stage of a request while it runs. */
export interface StageSpan {
  /** W3C Trace Context, for work on the request in other threads and processes. */
  readonly traceparent: string;
  set(attributes: SpanFacts['attributes']): void;
  /** Adds a span below it for work that was done elsewhere. `source` names the subsystem. */
  record(
    work: SpanFacts & { source: string; startMs: number; endMs: number; place: Record<string, number> },
  ): void;
}

/**
 * Runs a part of a request in a child of `parent`, which is `Exchange.span`. Without tracing, only the part runs.
 * `work` receives the parent for spans within the part.
 */
export function inSpan<T>(parent: unknown, facts: SpanFacts, work: (inner: unknown) => T): T {
  return parent ? inChild(parent as RequestSpan, facts, work) : work(undefined);
}

/** Like `inSpan`, for a stage with work in other threads and processes. */
export function withSpan<T>(
  parent: RequestSpan,
  facts: SpanFacts,
  work: (stage: StageSpan) => Promise<T>,
): Promise<T> {
  return inChild(parent, facts, ({ span, context: inner }) =>
    work({
      traceparent: formatTraceparent(span),
      set: (attributes) => void span.setAttributes(attributes),
      record({ source, startMs, endMs, place, name, attributes }) {
        const options = { startTime: startMs, attributes: { ...attributes, ...place } };
        trace.getTracer(source, '1.0.0').startSpan(name, options, inner).end(endMs);
      },
    }),
  );
}

function inChild<T>(
  parent: RequestSpan,
  { name, attributes }: SpanFacts,
  work: (child: RequestSpan) => T,
): T {
  const child = spanIn(parent.context, tracer.startSpan(name, { attributes }, parent.context));
  const { span } = child;
  try {
    const result = work(child);
    if (result instanceof Promise) return endAfter(span, () => result) as T;
    span.end();
    return result;
  } catch (error) {
    noteFailure(span, error);
    span.end();
    throw error;
  }
}

/** A span with the context that its children hang under. */
function spanIn(parent: Context, span: Span): RequestSpan {
  const { traceId, spanId } = span.spanContext();
  return { span, context: trace.setSpan(parent, span), traceId, spanId };
}

/** A span in the form of W3C Trace Context, which jobs keep of the request that submitted them. */
export function formatTraceparent(span: Span): string;
export function formatTraceparent(span: Span | undefined): string | undefined;
export function formatTraceparent(span: Span | undefined): string | undefined {
  if (!span) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags & 1}`;
}

/** The context below a span, possibly of another process. Default: the context of a new trace. */
export function parseTraceparent(traceparent: string | undefined): Context {
  if (!enabled || traceparent === undefined) return ROOT_CONTEXT;
  return propagation.extract(ROOT_CONTEXT, { traceparent });
}

/**
 * Records completed work as a span in a new trace. It is meant for frequent work, of which only effective runs are
 * recorded.
 */
export function recordJobSpan({ name, attributes }: SpanFacts, startMs: number): void {
  if (enabled) tracer.startSpan(name, { attributes, startTime: startMs }, ROOT_CONTEXT).end();
}

/**
 * Runs work that no request waits for in a span: the first one of a trace, or one below `parent`. `work` gets the context
 * that spans below it hang under.
 */
export function withJobSpan<T>(
  { name, attributes }: SpanFacts,
  work: (inner: Context) => Promise<T>,
  parent: Context = ROOT_CONTEXT,
): Promise<T> {
  if (!enabled) return work(parent);
  const span = tracer.startSpan(name, { attributes }, parent);
  return endAfter(span, () => work(trace.setSpan(parent, span)));
}

/** Ends a span when its work has ended, and records a failure in it. */
async function endAfter<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    noteFailure(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Characters of a message that a span keeps. */
const MAX_MESSAGE = 500;

function noteFailure(span: Span, error: unknown): void {
  const message = (error as Error).message.slice(0, MAX_MESSAGE);
  span.setAttributes({ error: true, 'error.message': message });
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
