/** The documents that are made from source, so that they cannot say something else. */
import { busRoles, permissionsOf, subjectTable } from '@omnibus/bus';
import { configJsonSchema } from '@omnibus/config';
import { alertRules, dashboards, grafanaModel } from '@omnibus/deploy';
import { commandTable, createProgram, exits } from '@omnibus/gateway';
import { errorTable } from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { stringify } from 'yaml';
import { allDifferences } from '../direct/differences.ts';

const generated = (source: string): string => `<!-- Generated from ${source} by \`npm run docs\`. -->\n\n`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const chartFiles = 'deploy/helm/omnibus/files';

/** Path from the checkout and content of each. */
export async function generateDocuments(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['docs/errors.md', errors()],
    ['docs/commands.md', commands()],
    ['docs/config.md', config()],
    ['docs/metrics.md', await metrics()],
    ['docs/subjects.md', subjects()],
    ['docs/nats.md', nats()],
    ['deploy/helm/omnibus/charts/nats/files/users.conf', `# Generated from packages/bus/src/nats/permissions.ts by \`npm run docs\`.\n${natsAuthorization()}`],
    ['docs/differences.md', differences()],
    // A chart holds everything it needs, so what is generated for Grafana and Prometheus is in it too.
    ...['deploy/grafana', chartFiles].flatMap((folder) => dashboards.map((dashboard) => [`${folder}/${dashboard.uid}.json`, `${JSON.stringify(grafanaModel(dashboard), null, 2)}\n`] as const)),
    ...['deploy/prometheus', chartFiles].map((folder) => [`${folder}/alerts.yaml`, `# Generated from deploy/src/alerts.ts by \`npm run docs\`.\n${stringify(alertRules(), { lineWidth: 0 })}`] as const),
    ['docs/omnibus.schema.json', `${JSON.stringify(configJsonSchema(), null, 2)}\n`],
  ]);
}

function errors(): string {
  const rows = Object.entries(errorTable).map(([reason, { code, httpStatus, retry, meaning }]) => [`\`${reason}\``, String(code), String(httpStatus), retry, meaning]);
  return `# Errors

${generated('packages/protocol/src/errors.ts')}What the gateway itself answers when it refuses or fails. An error of a server is passed on with its own code. The JSON-RPC
\`error.data\` of each carries \`reason\` and \`retry\`; \`server\` where one is concerned. The HTTP status applies while
nothing has been answered yet.

Retry: \`never\` the same request again; \`same\`: it was not executed and may be sent again; \`unknown-outcome\`: it may have
been executed, so look before repeating.

${table(['reason', 'code', 'HTTP', 'retry', 'meaning'], rows)}
`;
}

function commands(): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  const sections = commandTable(createProgram()).map(({ words, description, usage, options, args }) => {
    const rows = [
      ...args.map(({ name, isRequired, isMany, description: text }) => [`\`${isRequired ? `<${name}>` : `[${name}]`}${isMany ? '...' : ''}\``, cell(text), '']),
      ...options.map(({ flags, choices, description: text, fallback }) => [`\`${flags}\``, cell(choices.length === 0 ? text : `${text}: ${choices.join(', ')}`), fallback === undefined || typeof fallback === 'boolean' ? '' : `\`${Array.isArray(fallback) ? fallback.join(', ') : typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``]),
    ];
    return `## ${words.join(' ')}\n\n${description[0]?.toUpperCase() ?? ''}${cell(description.slice(1))}.\n\n\`\`\`\n${usage}\n\`\`\`\n${rows.length === 0 ? '' : `\n${table(['argument, option', 'meaning', 'default'], rows)}\n`}`;
  });
  return `# Commands

${generated('services/gateway/src/cli.ts')}stdout is the answer; progress, notices and questions go to stderr. On a terminal lists are cut to its width and names stand out, unless \`NO_COLOR\` is set; in
a pipe nothing is cut, and tabs stand between the columns. With \`--json\` the answer is JSON, and what is wrong is too:
\`{ "reason", "problem", "advice", "retry" }\`. Questions are asked on a terminal and nowhere else; without one, what is missing ends the command.
\`omnibus completion bash\` (zsh, fish) prints the completion of a shell.

## Exit statuses

${table(['status', 'meaning'], Object.values(exits).map(({ code, meaning }) => [String(code), meaning]))}

${sections.join('\n')}`;
}

function subjects(): string {
  const rows = subjectTable.map((row) => [`\`omnibus.v1.${row.subject}\``, row.from, row.to, row.carries, row.answers]);
  return `# Subjects

${generated('packages/bus/src/subjects.ts')}Who says what to whom. Payloads are the types of those names in \`packages/protocol\`.

${table(['subject', 'from', 'to', 'carries', 'answers'], rows)}

The key-value bucket \`omnibus-catalog\` holds what each server offers (\`CatalogRecord\`, key: the server and the worker of the adapter); its parts
larger than one message are in \`omnibus-catalog-parts\`.
`;
}

/** The users of a NATS configuration, one for each role, with passwords from the environment. */
function natsAuthorization(): string {
  const list = (subjects: readonly string[]): string => subjects.map((each) => `      ${JSON.stringify(each)}`).join('\n');
  const users = busRoles.map((role) => {
    const { publish, subscribe } = permissionsOf(role);
    return `  { user: ${role}, password: $${role.toUpperCase()}_PASSWORD, permissions: {\n    publish: [\n${list(publish)}\n    ]\n    subscribe: [\n${list(subscribe)}\n    ]\n  } }`;
  });
  return `authorization { users: [\n${users.join('\n')}\n] }\n`;
}

function nats(): string {
  return `# The NATS between the processes

${generated('packages/bus/src/nats/permissions.ts')}Omnibus uses any NATS from 2.9 on that has JetStream. How a process shows who it is, by user and password, token, NKey or credentials
file, and how it knows that it talks to the right NATS, are options of the configuration: \`nats.*\` in [config.md](config.md). All of them can
differ from role to role: \`user: "\${NATS_USER}"\` takes the user from the environment.

\`\`\`yaml
bus: tls://nats-a.example.com:4222,tls://nats-b.example.com:4222
nats:
  credentialsFile: /run/secrets/omnibus.creds
  tls: { caFile: /etc/ssl/company.pem }
\`\`\`

An address with \`tls://\`, or \`nats.tls\`, means that nothing is said in the clear: a NATS without TLS is not talked to. Files are read for
each connection, so that certificates and credentials are replaced without a restart. A login that is refused is tried again, and
\`/readyz\` says why it waits.

Several installations share a NATS, or one account of it, when each has a prefix of its own: \`nats: { prefix: team-a }\` makes every subject
\`team-a.v1.…\` and every bucket and stream \`team-a-…\`, and the permissions below follow: \`omnibus nats-permissions\` prints them. Behind a leaf
node, \`nats: { domain: hub }\` keeps what is stored in the JetStream of the hub.

Where clusters are joined by gateways, or by leaf nodes, \`nats: { region: eu }\` says where a process runs: sessions are opened and calls made at
processes of the same region while there is one that can, and elsewhere only then. What that costs: [scale.md](scale.md).

## What each role has to be allowed

Nothing else is needed, and the tests of the gateway run with exactly this. A process with all roles over NATS needs all three lists, and
answers under \`omnibus.v1.inbox.all.>\`. What each subject carries: [subjects.md](subjects.md).

\`\`\`
${natsAuthorization()}\`\`\`
`;
}

function differences(): string {
  return `# What differs from talking to a server directly

${generated('test/direct/differences.ts')}A client gets through Omnibus what it would get directly, member by member, but for these rows. Published servers (everything, filesystem,
memory, Playwright, git, time, fetch, examples of the Go SDK) and servers of the official suites on the SDKs of TypeScript, Python, Go and
Rust and on FastMCP are asked the same things directly and through one gateway that has all of them, in both eras; a difference
that is not here fails \`npm test -- direct\`.

${table(['what', 'where', 'why'], allDifferences.map(({ what, where, why }) => [what, where, why]))}
`;
}

async function metrics(): Promise<string> {
  const own = await new Metrics({ processMetrics: false }).registry.getMetricsAsJSON();
  const rows = own.map(({ name, type, help }) => [`\`${name}\``, String(type), help]);
  return `# Metrics

${generated('packages/telemetry/src/metrics.ts')}Served at \`/metrics\` on the admin port, together with the usual ones of the process and of Node. Label values are configured
server names, methods of the protocol and words of our own: never what a client chose.

${table(['metric', 'type', 'meaning'], rows)}
`;
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
  readonly default?: unknown;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: string;
  readonly anyOf?: readonly Schema[];
  /** Maps that their `kind` tells apart. */
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
}

function config(): string {
  return `# Configuration

${generated('packages/config/src/schema.ts')}YAML or JSON. Any text may hold \`\${NAME}\` (environment), \`\${NAME:-default}\` or \`\${file:path}\`; \`$\${\` is a plain
\`\${\`. Durations are \`500ms\`, \`30s\`, \`10m\`, \`1h\`, \`90d\` or a number of milliseconds. A running gateway follows the file: servers
that did not change are not touched. \`omnibus check FILE\` says everything that is wrong with one. For editors there is
[omnibus.schema.json](omnibus.schema.json).

${table(['option', 'takes', 'default', 'meaning'], options(configJsonSchema(), ''))}
`;
}

function options(schema: Schema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, option]) => {
    const path = `${prefix}${name}`;
    const own = option.description === undefined ? [] : [[`\`${path}\``, takes(option), defaultOf(option), option.description.replaceAll('|', '\\|')]];
    const values = typeof option.additionalProperties === 'object' ? options(option.additionalProperties, `${path}.<name>.`) : [];
    const inMap = option.anyOf?.flatMap((one) => options(one, `${path}.`)) ?? [];
    const inKind = option.oneOf?.flatMap((one) => options(one, `${path} (${one.properties?.['kind']?.const ?? ''}).`)) ?? [];
    const inList = option.items === undefined ? [] : options(option.items, `${path}[].`);
    return [...own, ...options(option, `${path}.`), ...inMap, ...inKind, ...inList, ...values];
  });
}

function takes({ type, enum: choices, const: only, anyOf, oneOf, items }: Schema): string {
  if (only !== undefined) return `\`${only}\``;
  if (oneOf !== undefined) return 'map';
  if (choices !== undefined) return choices.map((choice) => `\`${String(choice)}\``).join(', ');
  // A duration is a text or a number of milliseconds; an address or network is one of two texts.
  const word = anyOf?.find((one) => one.const !== undefined)?.const;
  if (word !== undefined) return `\`${word}\`, map`;
  if (anyOf !== undefined) return anyOf.some((one) => one.type === 'number') ? 'duration' : 'text';
  if (type === 'array') return `list of ${items === undefined ? 'values' : takes(items)}`;
  if (type === 'object') return 'map';
  return type === 'string' ? 'text' : String(type ?? 'value');
}

function defaultOf({ default: value }: Schema): string {
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)) return '';
  return `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}
