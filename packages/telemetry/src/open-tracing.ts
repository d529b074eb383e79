/** Opens tracing. OpenTelemetry itself is loaded only where tracing is configured. */
import type { Tracing, TracingOptions } from './tracing.ts';

/** @returns undefined where tracing is not configured. */
export async function openTracing(
  options: TracingOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Tracing | undefined> {
  const fromEnvironment = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (options.endpoint === undefined && fromEnvironment === undefined) return undefined;
  const { OtlpTracing } = await import('./otlp-tracing.ts');
  return new OtlpTracing(options);
}
