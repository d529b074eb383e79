/** Compiles the guardrails of a configuration, or reports their problems. */
import { enabledServers, formatProblem, isOwned, type Config, type ProblemAt } from '@omnibus/config';
import { compileGuardrails, selectorsOf, type Guardrails } from '@omnibus/policy';
import type { JsonObject } from '@omnibus/protocol';
import { ruleWarnings } from './rule-warnings.ts';

/** @throws {Error} in words when a guardrail is invalid. @returns undefined where there are none. */
export async function compileGuards({ guardrails }: Config): Promise<Guardrails | undefined> {
  if (guardrails.length === 0) return undefined;
  const compiled = await compileGuardrails(guardrails, await schemaProblems());
  if ('guardrails' in compiled) return compiled.guardrails;
  throw new Error(compiled.problems.map(({ path, message }) => `guardrails.${path.join('.')}: ${message}`).join('\n'));
}

/** Checks values against the schemas of tools, each of which is compiled once while the catalogue has it. */
async function schemaProblems(): Promise<(schema: JsonObject, value: unknown) => string | undefined> {
  const { compileSchema } = await import('@omnibus/validation');
  const known = new WeakMap<JsonObject, ReturnType<typeof compileSchema>>();
  return (schema, value) => {
    const compiled = known.get(schema) ?? compileSchema(schema);
    known.set(schema, compiled);
    const verdict = compiled.kind === 'unusable' ? 'unchecked' : compiled.validate(value);
    return typeof verdict === 'string' ? undefined : verdict.problem;
  };
}

/** Errors in the guardrails, each with its place in the configuration file. */
export async function guardrailProblems(config: Config, problemAt: ProblemAt): Promise<readonly string[]> {
  const { guardrails } = config;
  const compiled = await compileGuardrails(guardrails, () => undefined);
  const problems = 'guardrails' in compiled ? [] : [...compiled.problems];
  const servers = enabledServers(config);
  for (const [index, { tool }] of guardrails.entries()) {
    const server = tool?.split('/', 1)[0] ?? '';
    if (tool !== undefined && !servers.has(server) && !config.discovery.kubernetes.enabled)
      problems.push({
        path: [index, 'tool'],
        message: `there is no server ${JSON.stringify(server)} under mcpServers that could be asked`,
      });
  }
  return problems.map(({ path, message }) => formatProblem(problemAt(['guardrails', ...path], message)));
}

/** Warnings about guardrails that are valid, but probably mistaken. */
export function guardrailWarnings(config: Config): readonly string[] {
  const { guardrails, auth } = config;
  const servers = enabledServers(config);
  const seen = new Map<string, string>();
  return guardrails.flatMap(({ id, ...settings }): readonly string[] => {
    const name = `guardrail ${JSON.stringify(id)}`;
    const { who, except, what, webhook, tool } = settings;
    const unmatched = config.discovery.kubernetes.enabled
      ? []
      : selectorsOf({ guard: what })
          .filter(({ mayCover }) => ![...servers.keys()].some((server) => mayCover(server)))
          .map(({ text }) => JSON.stringify(text));
    const written = JSON.stringify(settings);
    const same = seen.get(written);
    seen.set(written, same ?? id);
    const isInTheClear =
      webhook !== undefined &&
      webhook.url.startsWith('http:') &&
      !/^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(new URL(webhook.url).hostname);
    const asked = servers.get(tool?.split('/', 1)[0] ?? '');
    return [
      ...ruleWarnings(name, { ...settings, who: who ?? 'everyone', guard: what }),
      ...(unmatched.length === 0 ? [] : [`${name} can never look at ${unmatched.join(', ')}: there is no such server`]),
      ...(same === undefined ? [] : [`${name} says the same as ${JSON.stringify(same)} before it`]),
      ...((auth === undefined || auth === 'none') && [who, except ?? []].flat().some((each) => each !== 'everyone')
        ? [`${name} names callers, and nothing says how they are known (auth)`]
        : []),
      ...(isInTheClear ? [`${name} sends messages to ${new URL(webhook.url).origin} in the clear`] : []),
      ...(asked === undefined || !isOwned(asked, config)
        ? []
        : [
            `${name} asks a server that is called in the name of its users (credentials), and the gateway asks in nobody's`,
          ]),
    ];
  });
}
