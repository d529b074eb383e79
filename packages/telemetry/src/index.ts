export { createLogger } from './logger.ts';
export type { Logger } from './logger.ts';
export { Faults } from './faults.ts';
export { mergedMetrics, type MetricsSnapshot } from './merged-metrics.ts';
export { Metrics } from './metrics.ts';
export type { ApprovalFormOutcome, ApprovalOutcome } from './label-values.ts';
export { durationBuckets } from './instruments.ts';
export type {
  CallCounts,
  CallMeter,
  CallResult,
  CircuitCause,
  SchemaProblem,
  UpstreamLoad,
  UpstreamState,
} from './upstream-metrics.ts';
export { startAdminServer, writeAnswer } from './admin-server.ts';
export type { AdminAct } from './admin-acts.ts';
export type { AdminAnswer, AdminOptions, AdminServer, AdminSite } from './admin-server.ts';
export { Failures } from './tap/failures.ts';
export { shownTag, Tap } from './tap/tap.ts';
export { readMethods, Routes, type Route } from './routes.ts';
export { maxSmallBodyBytes, readSmallBody, sendJson } from './small-body.ts';
export { openTracing } from './open-tracing.ts';
export type { Span, Tracing } from './tracing.ts';
