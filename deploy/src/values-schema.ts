/**
 * The schema of the chart's values. Its part about `config` is made from the schema of the configuration, so that Helm refuses what pods would refuse to start with.
 */

type Schema = Readonly<Record<string, unknown>>;

/** What no check needs, and patterns: the regular expressions of Helm know less than those of the gateway. */
const leftOut: ReadonlySet<string> = new Set(['$schema', 'description', 'default', 'pattern', 'format', 'title']);
/** Keywords whose members have names of their own. */
const named: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
/** A variable may stand for any text, number or truth value; what it stands for is known in the pods. */
const variable = { type: 'string', pattern: '\\$\\{' } as const;
/** Options that the chart sets itself. */
const ofChart = ['bus', 'listen', 'admin', 'discovery'] as const;

/**
 * @param values the schema as it is, whose part about `config` is replaced.
 * @param config JSON Schema of the configuration.
 * @param ignored options of a server that the configuration may have and the gateway ignores.
 */
export function valuesSchema(values: Schema, config: Schema, ignored: readonly string[]): Schema {
  const plain = relaxed(config) as { readonly properties: Schema & { readonly mcpServers: Servers } };
  const { mcpServers } = plain.properties;
  const { additionalProperties: server } = mcpServers;
  const servers = {
    ...mcpServers,
    additionalProperties: { ...server, properties: { ...server.properties, ...each(ignored, true) } },
  };
  return {
    ...values,
    properties: {
      ...(values['properties'] as Schema),
      config: { ...plain, properties: { ...plain.properties, mcpServers: servers, ...each(ofChart, false) } },
    },
  };
}

/** The schema of the servers of the configuration, by name. */
interface Servers {
  readonly additionalProperties: { readonly properties: Schema };
}

function each(options: readonly string[], isAllowed: boolean): Schema {
  return Object.fromEntries(options.map((name) => [name, isAllowed]));
}

function relaxed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(relaxed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.fromEntries(
    Object.entries(schema)
      .filter(([name]) => !leftOut.has(name))
      .map(([name, value]) => [
        name,
        named.has(name)
          ? Object.fromEntries(Object.entries(value as Schema).map(([member, each]) => [member, relaxed(each)]))
          : name === 'enum' || name === 'const' || name === 'required'
            ? (value as unknown)
            : relaxed(value),
      ]),
  );
  const isValue = 'enum' in kept || 'const' in kept || ['number', 'integer', 'boolean'].includes(String(kept['type']));
  return isValue ? { anyOf: [kept, variable] } : kept;
}
