/**
 * Every difference between the answers of a server that a client gets directly and those it gets through Omnibus, with its reason. The tests of this
 * folder fail on any other difference; `npm run docs` generates docs/reference/differences.md from this table.
 */
import type { JsonObject } from '@omnibus/protocol';
import type { Found } from './compare.ts';

export interface Difference {
  /** What a client receives differently than directly. */
  readonly what: string;
  /** The answer, and the place in it. */
  readonly where: string;
  readonly why: string;
  /** Whether one differing member belongs to this row. */
  readonly isAnswer?: (found: Found) => boolean;
  /** Checks of the official suites, as `scenario check`, that fail directly and pass through the gateway. */
  readonly checks?: RegExp;
}

const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
const isList = ({ question }: Found): boolean => lists.includes(question);
const isAlphabet = (name: unknown): boolean => typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name);
const isWhole = ({ path }: Found): boolean => path === 'result' || path === 'error';
const words = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));
/** A text without times of day and without files that are named by a date. */
const timeless = (value: unknown): string =>
  words(value).replaceAll(/\d{1,2}:\d{2}:\d{2} [AP]M|[^\s(]*\d{4}-\d{2}-\d{2}T[\d-]+Z/g, 'then');

/** Whether the metadata of a list only report that other servers are missing. */
function isMissingOthers(meta: unknown, server: string): boolean {
  const { 'omnibus.dev/missing': missing, ...others } = meta as JsonObject & {
    readonly 'omnibus.dev/missing'?: readonly { readonly server: string }[];
  };
  return (
    missing !== undefined &&
    Object.keys(others).every((name) => name.endsWith('/serverInfo')) &&
    missing.every((each) => each.server !== server)
  );
}

function isLogOf(server: string, message: unknown): boolean {
  return words((message as { readonly params?: JsonObject }).params?.['logger']).split('/')[0] === server;
}

const differences: readonly Difference[] = [
  {
    what: 'Tools and prompts carry the name of their server: `server__name`.',
    where: '`name` in lists, at the endpoint of all servers',
    why: 'Two servers may have tools of the same name. At the endpoint of one server, `/mcp/SERVER`, names are its own.',
    isAnswer: ({ endpoint, path, server, direct, through }) =>
      endpoint === 'all' &&
      /^result\.(tools|prompts)\[\]\.name$/.test(path) &&
      words(through).startsWith(`${server}__`) &&
      (!isAlphabet(`${server}__${words(direct)}`) || through === `${server}__${words(direct)}`),
  },
  {
    what: 'A name with other characters than `A-Z`, `a-z`, `0-9`, `_` and `-`, or longer than `nameLength` (64), is written with `_` and the digest of the original.',
    where: '`name` in lists',
    why: 'Interfaces of language models refuse such names, and with them the whole list.',
    isAnswer: ({ endpoint, path, direct, through }) =>
      endpoint === 'own' &&
      /^result\.(tools|prompts)\[\]\.name$/.test(path) &&
      !isAlphabet(direct) &&
      isAlphabet(through),
  },
  {
    what: 'Omnibus repairs an unambiguous entry or result that official clients refuse; it omits an ambiguous entry from lists.',
    where:
      'members of entries that are `null`, have another type than the revision says, or hold an `outputSchema` that cannot be compiled; `null` members of results',
    why: 'A client refuses the whole list over one entry, and so the lists of all servers. `/status` counts the repairs by server; with `validation: enforce` there are none.',
    isAnswer: ({ path, direct, through }) =>
      /^result\.(tools|prompts|resources|resourceTemplates|content|contents|messages|completion)\b/.test(path) &&
      direct === null &&
      through === undefined,
  },
  {
    what: 'An output schema has no `$id` at its root.',
    where: '`outputSchema` in `tools/list`',
    why: 'A client compiles the schemas of all tools in one place, where the `$id` of one server would stand for a schema of another. No reference of the schema needs it.',
    isAnswer: ({ path, through }) => path === 'result.tools[].outputSchema.$id' && through === undefined,
  },
  {
    what: 'A resource that an earlier visible server lists too has the address `omnibus://SERVER/` and its own after that; a page (`ui://…`) has `ui://omnibus/SERVER/…`, where a tool names it too.',
    where: '`uri` in lists and in contents, and the page in `_meta` of a tool, at the endpoint of all servers',
    why: "One address cannot lead to two servers, and hosts take pages of the scheme `ui:` only. All other addresses are the servers' own.",
    isAnswer: ({ endpoint, path, server, direct, through }) =>
      endpoint === 'all' &&
      /^result\.(resources|contents)\[\]\.uri$/.test(path) &&
      through === `omnibus://${server}/${words(direct)}`,
  },
  {
    what: 'The gateway refuses an unlisted resource that several templates match equally, and names the servers; a listed one belongs to the server that lists it.',
    where: 'the answer to `resources/read`, at the endpoint of all servers',
    why: 'The choice would be a guess; `omnibus://SERVER/` in front makes it exact.',
    isAnswer: (found) =>
      found.endpoint === 'all' &&
      found.question.startsWith('resources/read') &&
      (isWhole(found) || found.path.startsWith('result.contents')),
  },
  {
    what: 'A template that several servers list is completed by the first of them.',
    where: 'the answer to `completion/complete`, at the endpoint of all servers',
    why: 'A template has no alias: its expanded URI leads to a server only on a read.',
    isAnswer: (found) =>
      found.endpoint === 'all' &&
      found.question.startsWith('completion/complete') &&
      (isWhole(found) || found.path.startsWith('result.completion')),
  },
  {
    what: 'The gateway introduces itself, not the server.',
    where:
      '`serverInfo` of `initialize`; in 2026-07-28 `io.modelcontextprotocol/serverInfo` in `_meta` of every result',
    why: "The gateway is the client's peer. The endpoint or the prefix identifies the server.",
    isAnswer: ({ path, direct, through }) =>
      path.includes('serverInfo') ||
      (path === 'result._meta' &&
        direct === undefined &&
        words(Object.keys(through as object)) === '["io.modelcontextprotocol/serverInfo"]'),
  },
  {
    what: 'The instructions are those of all servers, each under its name.',
    where: '`instructions` of `initialize` and `server/discover`, at the endpoint of all servers',
    why: 'A client reads one text. At the endpoint of one server they are its own.',
    isAnswer: ({ path, endpoint }) => path === 'result.instructions' && endpoint === 'all',
  },
  {
    what: 'A server that speaks both eras offers the entries of both in each.',
    where: 'lists and `instructions`',
    why: 'Some servers show tools in one era only; a call to such a tool goes over the leg that has it.',
    isAnswer: ({ path, direct, question }) =>
      direct === undefined &&
      (path === 'result.instructions' || (question === 'tools/list' && path === 'result.tools[]')),
  },
  {
    what: 'Capabilities are those of the gateway: lists announce their changes and resources take subscriptions whatever the server says; at the endpoint of all servers they are everything that any server has.',
    where: '`capabilities` of `initialize` and `server/discover`',
    why: 'Lists change when a server comes or goes, or its entry in the configuration does, and the gateway announces that itself. Tasks are offered in the era that has them. Of an extension that two servers have, the settings are those of the earlier one.',
    isAnswer: ({ path, question }) => question === 'opening' && path.startsWith('result.capabilities'),
    checks: /^resources-(un)?subscribe /,
  },
  {
    what: 'The gateway sets how long, and for which callers, a client may cache an answer.',
    where: '`ttlMs` and `cacheScope` of lists and of `server/discover`',
    why: "Lists are the gateway's own, made of those of several servers. Older revisions have no such member.",
    isAnswer: (found) =>
      (isList(found) || found.question === 'opening') && /^result\.(ttlMs|cacheScope)$/.test(found.path),
  },
  {
    what: "An answer has the members of the client's revision, and the revisions named are those of the gateway.",
    where:
      '`resultType`, `protocolVersion`, `supportedVersions`; `ttlMs`, `cacheScope` and `_meta` for a server of the other era; `execution` of a tool for a client of 2026-07-28',
    why: 'That is what bridging is. `resultType` is added where a server of 2026-07-28 has left it out.',
    isAnswer: ({ path, era, directEra, question, direct }) =>
      path === 'result.resultType' ||
      /^result\.(protocolVersion|supportedVersions)/.test(path) ||
      (era !== directEra && (/^result\.(ttlMs|cacheScope|_meta)/.test(path) || question === 'opening')) ||
      (era === 'modern' && path === 'result.tools[].execution' && direct !== undefined),
    checks: /^\S+ wire-schema-valid$/,
  },
  {
    what: 'A tool, prompt, method or page that no server lists is refused by the gateway, for clients of every revision alike: with a JSON-RPC error (-32602 for a tool), in its own words, with `reason` and `retry` in `data`.',
    where:
      'the error for an unknown tool, prompt, resource, method or cursor, at the endpoint of several servers; at that of one server too if an option restricts requests to it: `includeTools`, `excludeTools`, `definitions`, `validation: enforce`, guardrails, rules and keys that do not permit everything, a profile that selects, renames or fixes. Elsewhere the only server answers itself',
    why: 'With several servers, the intended one is unknown. If names are restricted, a name that a server reads loosely must lead nowhere. Some servers answer an unknown tool by a result with `isError`, some ignore a bad cursor, some complete for prompts they do not have.',
    isAnswer: (found) =>
      /unknown (tool|prompt|resource|method)|bad cursor/.test(found.question) &&
      (isWhole(found) || found.path.startsWith('error.')),
  },
  {
    what: 'A list that this server does not have is that of the others, and for a server that completes nothing there are no suggestions.',
    where:
      'the answer to a list request or `completion/complete`, at the endpoint of all servers, where directly it is -32601',
    why: 'Some server of the endpoint has such a list, so there is one.',
    isAnswer: (found) =>
      found.endpoint === 'all' &&
      (isList(found) || found.question.startsWith('completion/complete')) &&
      isWhole(found) &&
      (found.path === 'error' ? (found.direct as { code?: number }).code === -32_601 : found.direct === undefined),
    checks: /^completion-complete /,
  },
  {
    what: "A method that no server of the endpoint has a capability for is refused in the gateway's words, with the same code.",
    where:
      '`error.message` and `error.data` for a list request, `completion/complete` or `logging/setLevel`, at the endpoint of several servers. The only server of an endpoint answers itself, and so does the server that has the prompt or resource to be completed',
    why: 'A server gets no requests for capabilities that it did not declare.',
    isAnswer: (found) =>
      (isList(found) || /^(completion\/complete|logging\/setLevel)/.test(found.question)) &&
      /^error\.(message|data)$/.test(found.path),
  },
  {
    what: 'The gateway refuses an unknown log level with -32602, also if the server accepts it.',
    where:
      'the answer to `logging/setLevel`; at the endpoint of one server, what that server refuses is refused in its own words, and where it has no `logging` there is no such method (-32601)',
    why: 'Such a level would not define which messages a client gets, and servers answer it differently.',
    isAnswer: (found) =>
      found.question === 'logging/setLevel of no level' &&
      (isWhole(found) || found.path.startsWith('error.')) &&
      (found.endpoint === 'all' || isWhole(found) || (found.path === 'error.code' && found.through === -32_601)),
  },
  {
    what: "A server on a shared connection gets the most verbose of its clients' levels, and at least `info`; each client gets its own level.",
    where:
      '`params` of the `logging/setLevel` that reaches a server of a revision up to 2025-11-25, and `notifications/message` of a server that sends none before it',
    why: 'Such a server has one level for a connection, and clients without a level should get the usual messages. A client that can answer questions has its own connection, and so its own level. A server that is silent until it gets a level is heard this way.',
    isAnswer: ({ era, isSilent, path, server, direct, through }) =>
      era === 'legacy' && isSilent && path === 'logs[]' && direct === undefined && isLogOf(server, through),
  },
  {
    what: "A resource that is not there has the code of the client's revision.",
    where:
      '`error.code` of `resources/read`: -32002 up to 2025-11-25, -32602 from 2026-07-28; at the endpoint of several servers for every URI that none of them gives, also if one does not answer, which `data.missing` names',
    why: "Clients know their own revision's code only. Some servers send the newer one to older clients.",
    isAnswer: ({ path, question, direct, through, era }) =>
      path === 'error.code' &&
      question.startsWith('resources/read') &&
      [-32_602, -32_002].includes(direct as number) &&
      through === (era === 'legacy' ? -32_002 : -32_602),
  },
  {
    what: 'A client gets no question of a kind that it has not declared; the gateway answers `ping` at once.',
    where: "requests of a server to its client, and the tool's text about the refusal",
    why: 'The gateway answers for the client, with -32601 and the reason; a server is not allowed to ask in the first place.',
    isAnswer: ({ path, direct, through }) =>
      (path.startsWith('questions[]') && through === undefined) ||
      (/Method not found/.test(words(direct)) && /it declared no capability/.test(words(through))),
  },
  {
    what: 'A server that asks for roots as soon as it is connected asks when the first call reaches it; for a client of 2026-07-28, at each request.',
    where: '`roots/list`, before the answer to a call',
    why: 'A client has a connection of its own to a server from its first call on. A request of 2026-07-28 has one alone while it runs.',
    isAnswer: ({ path, direct, through }) =>
      path.startsWith('questions[]') &&
      direct === undefined &&
      (through as { method?: string }).method === 'roots/list',
  },
  {
    what: 'A question without `params` has empty ones, and its progress token is another.',
    where: "`params` of a server's requests to its client",
    why: 'They mean the same. Each hop has its own tokens.',
    isAnswer: ({ path, direct, through }) =>
      (path === 'questions[].params' && direct === undefined && words(through) === '{}') ||
      path === 'questions[].params._meta.progressToken',
  },
  {
    what: 'A tool that shows its progress token shows another.',
    where: 'whatever a server makes of `progressToken`',
    why: "Each hop has tokens of its own, since two clients may choose the same. Progress comes with the client's.",
    isAnswer: ({ question, path, through }) =>
      question.startsWith('tools/call test_tool_with_progress') &&
      path.startsWith('result.content') &&
      Number.isFinite(Number(through)),
  },
  {
    what: 'A log message names its server, and those of other servers come too.',
    where: '`logger` of `notifications/message`, at the endpoint of all servers',
    why: 'One stream carries those of all servers.',
    isAnswer: ({ endpoint, path, server, direct, through }) =>
      endpoint === 'all' &&
      ((path === 'logs[].params.logger' && words(through).startsWith(server)) ||
        (path === 'logs[]' && direct === undefined && !isLogOf(server, through))),
  },
  {
    what: 'A client of 2026-07-28 hears log messages of a request that names a level, and of no other.',
    where: '`notifications/message` of a server of an older revision',
    why: 'The revision requires it. A message of such a server outside of requests belongs to none, and a client without a session gets messages of its requests only.',
    isAnswer: ({ era, directEra, path, through }) =>
      era === 'modern' && directEra === 'legacy' && through === undefined && path === 'logs[]',
  },
  {
    what: 'If a call makes progress while its client collects an answer, the client gets the latest one.',
    where: '`notifications/progress` of a server of an older revision, for a client of 2026-07-28',
    why: 'Between two requests there is no stream to send it on; the latest progress replaces the earlier ones.',
    isAnswer: ({ era, directEra, path, through }) =>
      era === 'modern' &&
      directEra === 'legacy' &&
      path.startsWith('progress[]') &&
      (through === undefined || path === 'progress[].params.progress'),
  },
  {
    what: 'A list of all servers names those that are missing from it, with the reason. A list names tools and prompts that are left out.',
    where:
      '`omnibus.dev/missing` in `_meta` of the first page of a list, at the endpoint of all servers; `omnibus.dev/left-out` in it, at every endpoint',
    why: 'A client would take a missing entry for one that does not exist. Another server may be starting, or its first list for such a client may be pending.',
    isAnswer: ({ endpoint, path, direct, through, server }) =>
      endpoint === 'all' &&
      direct === undefined &&
      (path === 'result._meta.omnibus.dev/missing'
        ? isMissingOthers({ 'omnibus.dev/missing': through }, server)
        : path === 'result._meta' && isMissingOthers(through, server)),
  },
  {
    what: "The time of day in a server's answers, and names of files that depend on the time or the working directory.",
    where: 'anywhere',
    why: 'The two answers are given at two times; a program runs in the folder of the configuration file.',
    isAnswer: ({ direct, through }) =>
      direct !== undefined && through !== undefined && timeless(direct) === timeless(through),
  },
  {
    what: 'Host and Origin are checked.',
    where: 'the status of a request from elsewhere',
    why: 'A page in a browser must not reach servers of this machine. Not every server looks.',
    checks: /^dns-rebinding-protection /,
  },
  {
    what: 'Headers are checked against the body.',
    where: 'the answer to a request of 2026-07-28 whose `Mcp-*` headers differ from its body',
    why: 'The revision requires it; proxies trust those headers. Some servers do not check.',
    checks:
      /^(http-header-validation|http-custom-header-server-validation) |^server-stateless sep-2575-http-server-(header-mismatch|unsupported-version)/,
  },
  {
    what: 'Subscriptions are served whether or not the server has them.',
    where: 'the answer to `subscriptions/listen`',
    why: "They are the gateway's own: it announces changes of its lists, and asks servers for what only they know.",
    checks:
      /^server-stateless sep-2575-server-(sends-subscription-ack|tags-subscription-id|honors-notification-filter|sends-(tools|prompts)-list-changed-on-subscription)$/,
  },
  {
    what: 'A message that breaks the specification and can mean only one thing is read as that: an answer with its id as text, with `null` beside it or after other text on a line of stdout, an error without a code.',
    where: 'the answer to any request, where directly there is none or the client refuses it',
    why: 'The table of repairs (`omnibus doctor`, `/status`) counts each. With `validation: enforce` of the server nothing is repaired. What can mean two things is refused with the reason.',
  },
  {
    what: 'The gateway answers a line of a program that is not JSON with -32700 only if its beginning shows a request; otherwise it counts as stray text, which `/status` shows.',
    where: 'the message to a stdio server after such a line; some clients answer every line and others none',
    why: 'Many programs write a log on stdout, and an answer to each line of it would be noise that some of them log again.',
  },
  {
    what: 'Clients can resume streams.',
    where: "the first event of a POST's stream has an id",
    why: 'The gateway stores messages that a client has missed. Some servers do not.',
    checks: /^server-sse-polling /,
  },
];

/** Checks that servers of one era fail when they are tested in the other. */
const bridged: Difference = {
  what: 'A server of one era is used by clients of the other.',
  where: 'everything',
  why: 'The gateway speaks both. What cannot be bridged is listed in `test/conformance/impossible-over-a-legacy-server.yaml`. Nor can `inputRequests` in a result of an older revision, which servers on the Go SDK return when they ask a second time in one call: no older revision says how the answers go back, so clients get the result as it is.',
};

export const allDifferences: readonly Difference[] = [...differences, bridged];

/** The row of the table that explains a difference; undefined where none does. */
export function explanationOf(found: Found): Difference | undefined {
  return differences.find(({ isAnswer }) => isAnswer?.(found));
}

/** @param isOfOtherEra whether the server does not speak the tested revision. */
export function explanationOfCheck(check: string, isOfOtherEra: boolean): Difference | undefined {
  return differences.find(({ checks }) => checks?.test(check)) ?? (isOfOtherEra ? bridged : undefined);
}
