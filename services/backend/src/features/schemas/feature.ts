import type { ServerFeature, ServerParts } from '../../feature.ts';
import { SchemaChecks } from './schema-checks.ts';

/** Holds arguments, results, questions and answers against their schemas. */
export function schemas({ config, server, log, metrics, catalog }: ServerParts): ServerFeature {
  const checks = new SchemaChecks({
    mode: config.validation,
    server,
    log,
    metrics: metrics.upstream,
    prompt: (name) => catalog.prompt(name),
  });
  return { name: 'schemas', step: checks, checks, start: () => checks.start() };
}
