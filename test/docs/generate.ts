/** The documents that are generated from source, so that they cannot contradict it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openApi } from '@omnibus/admin-api';
import { natsUserNames, permissionsOf, reservedBytes, setUpPermissions, subjectTable } from '@omnibus/bus';
import { configJsonSchema, ignoredServerKeys } from '@omnibus/config';
import { alertRules, alerts, dashboards, grafanaModel, runbookOf, valuesSchema } from '@omnibus/deploy';
import { commandTable, createProgram, groups } from '@omnibus/cli';
import { jsonShapes, shapeText } from '@omnibus/cli/json-shapes';
import { exits } from '@omnibus/client';
import { errorTable, version } from '@omnibus/protocol';
import { Metrics } from '@omnibus/telemetry';
import { stringify } from 'yaml';
import { root } from '../support/processes.ts';
import { allDifferences } from '../direct/differences.ts';
import { processExample, sections } from './config-examples.ts';
import { guarantees } from './guarantees.ts';

const generated = (source: string): string => `<!-- Generated from ${source} by \`npm run docs\`. -->\n\n`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const chartFiles = 'deploy/helm/omnibus/files';
const chartValues = 'deploy/helm/omnibus/values.schema.json';

/** Path in the checkout, and contents, of each document. */
export async function generateDocuments(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['docs/reference/errors.md', errors()],
    ['docs/reference/commands.md', commands()],
    ['docs/reference/config.md', config()],
    ['docs/reference/metrics.md', await metrics()],
    ['docs/reference/subjects.md', subjects()],
    ['docs/reference/nats.md', nats()],
    [
      'deploy/helm/omnibus/charts/nats/files/users.conf',
      `# Generated from packages/bus/src/nats/permissions.ts by \`npm run docs\`.\n${natsAuthorization()}`,
    ],
    ['docs/reference/differences.md', differences()],
    ['docs/reference/guarantees.md', whenPartsDie()],
    ['docs/runbooks/README.md', runbooks()],
    // A chart must contain all its files, so the generated files for Grafana and Prometheus are copied into it.
    ...['deploy/grafana', chartFiles].flatMap((folder) =>
      dashboards.map(
        (dashboard) =>
          [`${folder}/${dashboard.uid}.json`, `${JSON.stringify(grafanaModel(dashboard), null, 2)}\n`] as const,
      ),
    ),
    ...['deploy/prometheus', chartFiles].map(
      (folder) =>
        [
          `${folder}/alerts.yaml`,
          `# Generated from deploy/src/alerts.ts by \`npm run docs\`.\n${stringify(alertRules(), { lineWidth: 0 })}`,
        ] as const,
    ),
    ['docs/reference/openapi.json', `${JSON.stringify(openApi(version), null, 2)}\n`],
    ['docs/reference/omnibus.schema.json', `${JSON.stringify(configJsonSchema(), null, 2)}\n`],
    [chartValues, await valuesOfChart()],
  ]);
}

/** The part about `config` is generated, and the rest is written by hand. */
async function valuesOfChart(): Promise<string> {
  const written = JSON.parse(await readFile(join(root, chartValues), 'utf8')) as Readonly<Record<string, unknown>>;
  return `${JSON.stringify(valuesSchema(written, { ...configJsonSchema() }, ignoredServerKeys), null, 2)}\n`;
}

function errors(): string {
  const rows = Object.entries(errorTable).map(([reason, { code, httpStatus, retry, meaning }]) => [
    `\`${reason}\``,
    String(code),
    String(httpStatus),
    retry,
    meaning,
  ]);
  return `# Errors

${generated('packages/protocol/src/errors.ts')}The gateway answers with these errors when it refuses a request or fails itself. An error of a server is passed on with the server's own code. The JSON-RPC
\`error.data\` has \`reason\` and \`retry\`, and \`server\` where the error concerns one. The HTTP status is used if the response has not begun yet; on an open stream the error is an event.

What \`retry\` means: \`never\`: the same request would fail again; \`same\`: the request was not executed and may be sent again; \`unknown-outcome\`: the request may have
been executed, so look at the result before you repeat it.

${table(['reason', 'code', 'HTTP', 'retry', 'meaning'], rows)}
`;
}

function commands(): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
  const rowsOfAll = commandTable(createProgram(() => Promise.reject(new Error('no command runs here'))));
  const section = ({ words, description, usage, options, args }: (typeof rowsOfAll)[number]): string => {
    const rows = [
      ...args.map(({ name, isRequired, isMany, description: text }) => [
        `\`${isRequired ? `<${name}>` : `[${name}]`}${isMany ? '...' : ''}\``,
        cell(text),
        '',
      ]),
      ...options.map(({ flags, choices, description: text, fallback }) => [
        `\`${flags}\``,
        cell(choices.length === 0 ? text : `${text}: ${choices.join(', ')}`),
        fallback === undefined || typeof fallback === 'boolean'
          ? ''
          : `\`${Array.isArray(fallback) ? fallback.join(', ') : typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``,
      ]),
    ];
    return `### ${words.join(' ')}\n\n${description[0]?.toUpperCase() ?? ''}${cell(description.slice(1))}.\n\n\`\`\`\n${usage}\n\`\`\`\n${rows.length === 0 ? '' : `\n${table(['argument, option', 'meaning', 'default'], rows)}\n`}${jsonOf(words.join(' '))}`;
  };
  const sections = groups.map(({ title, commands: inGroup }) => {
    const examples = Object.values(inGroup).flatMap((each) => each.examples);
    const width = Math.max(...examples.map(([words]) => words.length));
    const lines = examples.map(([words, does]) => `omnibus ${words.padEnd(Math.min(width, 64))}  # ${does}`);
    const parts = rowsOfAll.filter(({ words: [first] }) => first !== undefined && first in inGroup).map(section);
    return `## ${title}\n\n\`\`\`sh\n${lines.join('\n')}\n\`\`\`\n\n${parts.join('\n')}`;
  });
  return `# Commands

${generated('services/cli/src/command-line')}Commands print their answer on stdout, and progress, notices and questions on stderr. On a terminal, lists are cut to its width, and names are highlighted unless \`NO_COLOR\` is set; in
a pipe nothing is cut, and tabs separate the columns. With \`--json\` the answer is JSON, and a failure is too:
\`{ "reason", "problem", "advice", "retry" }\`. Commands ask questions only on a terminal. Elsewhere \`add\`, \`remove\` and \`import\` change the configuration
without asking, \`connect\` and \`disconnect\` need \`--yes\` (else 77), and any other missing answer ends the command.
\`omnibus completion bash\` (or zsh, fish) prints a completion script for the shell.

## Exit statuses

${table(
  ['status', 'meaning'],
  Object.values(exits).map(({ code, meaning }) => [String(code), meaning]),
)}

${sections.join('\n')}`;
}

/** The description of the output of `--json`. */
function jsonOf(command: string): string {
  const { [command]: shape } = jsonShapes;
  return shape === undefined ? '' : `\n\`--json\` prints \`${shapeText(shape)}\`.\n`;
}

function whenPartsDie(): string {
  const rows = guarantees.map(({ fault, request, era, sees, executed, test: [file, title] }) => [
    fault,
    request,
    era,
    sees,
    executed,
    `\`${file}\` "${title}"`,
  ]);
  return `# Guarantees when a part dies

${generated('test/docs/guarantees.ts')}A part of a gateway over NATS dies while a client's request is open: the table has the outcome for the client. In one process, all parts die together: each open connection ends, and with [\`sessions.store\`](../how-to/restarts.md) the next process continues the sessions.

"Unknown" means an answer with the reason \`gateway.interrupted\` and \`retry: unknown-outcome\`: the server may have executed the call. The column "revision" has the revisions that the test uses; in the other revisions with
sessions (2024-11-05 to 2025-11-25) the same code runs.

${table(['fault', 'request', 'revision', 'the client gets', 'executed', 'test'], rows)}

A repeated request is a request of its own if its first connection is still open, if the first answer came within half a second of the request and before the edge died.

[The cost of a call](../explanation/speed.md#when-a-part-is-killed) has measured times from a kill to the next answer.

## Requests without a session

A client of 2026-07-28 has no session, and any client may use the same id, so it proves with a key that it repeats a request. It makes a random key for the request and sends it in \`params._meta\`; when it repeats the request, with the same id and parameters, it adds \`dev.omnibus/repeats\`:

\`\`\`json
{ "dev.omnibus/repeatKey": "3f0c9a52-5b0f-4a55-9d0e-6f4d2b7f8f11", "dev.omnibus/repeats": true }
\`\`\`

Within 30 seconds after the end of its connection, or 60 after the answer, such a request joins the call that runs or gets its answer; a question of the server comes again. The end of the connection does not cancel such a call; the gateway cancels it after those 30 seconds. A key has 16 to 128 letters, digits and \`_.:+/=-\`; servers do not get it. If the
gateway cannot prove that no server has the call, the client gets "unknown". Without \`dev.omnibus/repeats\`, the repeated request joins only if the session worker of the first one still runs.

## Bounds

Progress and log messages that were on their way are lost. \`limits.maxKeptAnswerBytes\` and \`limits.maxKeptAnswerBytesPerCaller\` bound the kept answers, and \`omnibus_kept_answer_bytes\` shows them. An answer of more than 1 MiB is not kept.

Decisions [60](../decisions/0060-calls-outlive-session-workers.md), [65](../decisions/0065-repeated-requests-join.md) and [71](../decisions/0071-one-process-has-a-store.md) have the reasons, and [When a process dies](../internals/failures.md) the inner steps.
`;
}

/** The page of each alert. */
function runbooks(): string {
  const rows = alerts.map(({ name, severity, description }) => [
    `[${name}](${runbookOf(name)})`,
    severity,
    description.replaceAll(/\{\{ \$value[^}]*\}\}/g, 'N').replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '($1)'),
  ]);
  return `# Runbooks

${generated('deploy/src/alerts.ts')}Each alert has a page: its meaning, where to look, and the fix. N stands for the measured value.

${table(['alert', 'severity', 'what happens'], rows)}
`;
}

function subjects(): string {
  const rows = subjectTable.map((row) => [`\`omnibus.v1.${row.subject}\``, row.from, row.to, row.carries, row.answers]);
  return `# Subjects

${generated('packages/bus/src/subjects.ts')}Which process sends what to which over the bus. Payloads are the types with these names in \`packages/protocol\`.

${table(['subject', 'from', 'to', 'carries', 'answers'], rows)}

The key-value bucket \`omnibus-catalog\` has a \`CatalogRecord\` with the lists of each server, under the name of the server and of the worker of its adapter; parts of a record that are
larger than one message are in \`omnibus-catalog-parts\`.
`;
}

/** The users of a NATS configuration, one for each role and one for the set-up, with passwords from the environment. */
function natsAuthorization(): string {
  const list = (subjects: readonly string[]): string =>
    subjects.map((each) => `      ${JSON.stringify(each)}`).join('\n');
  const users = natsUserNames.map((user) => {
    const { publish, subscribe } = user === 'setup' ? setUpPermissions() : permissionsOf(user);
    return `  { user: ${user}, password: $${user.toUpperCase()}_PASSWORD, permissions: {\n    publish: [\n${list(publish)}\n    ]\n    subscribe: [\n${list(subscribe)}\n    ]\n  } }`;
  });
  return `authorization { users: [\n${users.join('\n')}\n] }\n`;
}

function nats(): string {
  return `# The NATS between the processes

${generated('packages/bus/src/nats/permissions.ts')}Omnibus works with any NATS from 2.9 on that has JetStream. The options \`nats.*\` in [config.md](config.md) say how a process logs in (user and password, token, NKey or credentials
file), and how it checks that it talks to the right NATS. All of them can
differ from role to role: \`user: "\${NATS_USER}"\` takes the user from the environment.

\`\`\`yaml
bus: tls://nats-a.example.com:4222,tls://nats-b.example.com:4222
nats:
  credentialsFile: /run/secrets/omnibus.creds
  tls: { caFile: /etc/ssl/company.pem }
\`\`\`

With an address that begins with \`tls://\`, or with \`nats.tls\`, a process talks to NATS over TLS only. It reads the files for
each connection, so certificates and credentials can be replaced without a restart. While NATS refuses the login, the process tries again, and
\`/readyz\` says why it waits.

Several installations can share a NATS, or one account of it, if each has a prefix of its own. With \`nats: { prefix: team-a }\` every subject begins with
\`team-a.v1.\` and every bucket and stream with \`team-a-\`, and so do the permissions, which \`omnibus nats-permissions\` prints. Behind a leaf
node, \`nats: { domain: hub }\` stores everything in the JetStream of the hub.

Where clusters are joined by gateways or leaf nodes, \`nats: { region: eu }\` says where a process runs. Sessions are then opened and calls made at
processes of the same region as long as one of them can take them, and elsewhere otherwise. [scale.md](../explanation/scale.md) says what that costs.

Buckets and streams that callers can fill reserve their storage in JetStream when they are created: ${Math.round(reservedBytes() / 2 ** 20)} MiB, on each node that has a replica, and the stream of \`audit\`
in addition. If \`max_file_store\` of the server or \`max_file\` of the account leaves no room for one of them, the set-up and the log say so with its name and size. Without the catalogue or the records of sessions a process does not start; without
the others it serves, but their features are missing: quotas are then unknown (\`onUnknown\` in [limits.md](../how-to/limits.md)), for example.

## Setting NATS up

\`omnibus nats setup\` creates the buckets and streams, and updates those that differ from this version's settings. It prints the action for each, and can be
run again at any time, also while processes run. It takes the same configuration as the other processes, of which it reads \`bus\`, \`nats\` and the part of \`audit\` about NATS. It needs no other secrets, and logs in as a user with the permissions of \`setup\`:

\`\`\`sh
omnibus nats setup --config omnibus.yaml --bus "tls://setup:$SETUP_PASSWORD@nats-a.example.com:4222"
\`\`\`

At a cluster it waits up to 30 seconds for enough nodes to give each stream three replicas. A stream that then has fewer is there and works; the command names it and
fails, and running it again gives the stream the others. The Job of the chart does that. If a cluster has fewer than three nodes for good, say so with \`--replicas 1\`.

Run it before the first start, after each upgrade, and when NATS has lost its store. The Helm chart runs it as a Job, and the compose file as a service. A process
A process create streams waits until it has run; its log and \`/readyz\` name the stream that is missing. When NATS comes back without its store, running
processes do the same, and continue when the streams exist again: they write sessions and the lists of servers again. A process whose user may create
streams, as at a NATS without users, creates them itself and needs no set-up; it changes none that exist.

In an upgrade from a version without the set-up, give each role the permissions of both versions first: the subjects of the audit and of changed keys differ. Then
run \`omnibus nats setup\`, replace the processes, and leave the older permissions out.

## Permissions of each role

A role needs these permissions and no others; the tests of the gateway run with exactly these. No role may create, update or delete a stream, nor read by
consumers or directly: with each of these it could take over the data and the messages of the others. What remains open is how NATS answers: on any subject that a sender
names. A role can have the bare acknowledgement of its own message sent to a subject that it may not publish on. Processes of the gateway refuse such a message, but
where the subject is a key of a bucket, its value is lost. The gateway treats such a value as missing, and reports it in the log and in \`omnibus_bus_unreadable_total\`.

A process with all roles over NATS needs the lists of all three roles, and gets its replies under \`omnibus.v1.inbox.all.>\`. [subjects.md](subjects.md) says what each subject carries.

\`\`\`
${natsAuthorization()}\`\`\`
`;
}

function differences(): string {
  return `# What differs from talking to a server directly

${generated('test/direct/differences.ts')}Through Omnibus a client gets the server's messages unchanged, member by member, except for the differences in this table. A test asks published servers (everything, filesystem,
memory, Playwright, git, time, fetch, examples of the Go SDK) and the servers of the official suites on the SDKs of TypeScript, Python, Go and
Rust and on FastMCP the same things directly and through one gateway with all of them, in both eras (revisions up to 2025-11-25, which have sessions, and 2026-07-28,
which has none); a difference that is not in the table fails \`npm test -- direct\`.

A server notices two more. Omnibus first sends \`server/discover\`, also to a server of 2024 or 2025, unless the configuration sets \`era\`. And a line on the stdout of
a program that is no JSON gets no -32700: it has no id, and is counted and shown to operators as text that was meant for stderr.

${table(
  ['what', 'where', 'why'],
  allDifferences.map(({ what, where, why }) => [what, where, why]),
)}
`;
}

async function metrics(): Promise<string> {
  const own = await new Metrics({ processMetrics: false }).registry.getMetricsAsJSON();
  const rows = own.map(({ name, type, help }) => [`\`${name}\``, String(type), help]);
  return `# Metrics

${generated('packages/telemetry/src/metrics.ts')}The admin port serves these metrics at \`/metrics\`, together with the usual ones of the process and of Node. Label values are configured
names, methods of the protocol and words of the gateway, never a string that a client chose.

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
  /** Alternatives that are distinguished by their `kind`. */
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
}

function config(): string {
  return `# Configuration

${generated('packages/config/src/schema.ts')}The configuration is a YAML or JSON file. Any text in it may contain \`\${NAME}\` (an environment variable), \`\${NAME:-default}\`, \`\${file:path}\` or
\`\${vault:MOUNT/PATH#FIELD}\` ([a secret store](../how-to/credentials.md#keys-in-a-secret-store)); write \`$\${\` for a plain
\`\${\`. Durations are written \`500ms\`, \`30s\`, \`10m\`, \`1h\`, \`90d\` or as a number of milliseconds from 1000 on. A running gateway follows the file, without touching servers
that did not change. \`omnibus check FILE\` lists everything that is wrong with a file. Editors can use
[omnibus.schema.json](omnibus.schema.json).

"Secret" marks an option whose value never appears in messages or logs; "a running gateway follows changes" marks those that take effect without a restart.

## This process

Addresses, the page, names, logs.

\`\`\`yaml
${processExample}
\`\`\`

${tableOf((name) => !Object.hasOwn(sections, name))}

${Object.entries(sections)
  .map(
    ([option, { title, text, example }]) =>
      `## ${title}\n\n${text}\n\n\`\`\`yaml\n${example}\n\`\`\`\n\n${tableOf((name) => name === option)}\n`,
  )
  .join('\n')}`;
}

/** The options below the top-level options of a section. */
function tableOf(isWanted: (name: string) => boolean): string {
  const { properties = {} } = configJsonSchema() as Schema;
  const wanted = Object.fromEntries(Object.entries(properties).filter(([name]) => isWanted(name)));
  return table(['option', 'takes', 'default', 'meaning'], options({ properties: wanted }, ''));
}

function options(schema: Schema, prefix: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, option]) => {
    const path = `${prefix}${name}`;
    const own =
      option.description === undefined
        ? []
        : [[`\`${path}\``, takes(option), defaultOf(option), option.description.replaceAll('|', '\\|')]];
    const values =
      typeof option.additionalProperties === 'object' ? options(option.additionalProperties, `${path}.<name>.`) : [];
    const inMap = option.anyOf?.flatMap((one) => options(one, `${path}.`)) ?? [];
    const inKind =
      option.oneOf?.flatMap((one) => options(one, `${path} (${one.properties?.['kind']?.const ?? ''}).`)) ?? [];
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
  if (anyOf?.some((one) => one.type === 'object') === true) return anyOf.map(takes).join(', ');
  if (anyOf !== undefined) return anyOf.some((one) => one.type === 'number') ? 'duration' : 'text';
  if (type === 'array') return `list of ${items === undefined ? 'values' : takes(items)}`;
  if (type === 'object') return 'map';
  return type === 'string' ? 'text' : String(type ?? 'value');
}

function defaultOf({ default: value }: Schema): string {
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
    return '';
  return `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}
