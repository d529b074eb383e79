export { createLogger } from './logger.ts';
export type { LogFormat, Logger } from './logger.ts';
export { Faults } from './faults.ts';
export { Metrics } from './metrics.ts';
export type { CallMeter, CallResult, CircuitCause, FaultPart, SchemaProblem, UpstreamState } from './metrics.ts';
export { startAdminServer } from './admin-server.ts';
export type { AdminOptions, AdminServer } from './admin-server.ts';
export { openTracing } from './tracing.ts';
export type { Span, SpanSide, SpanSubject, Tracing } from './tracing.ts';
