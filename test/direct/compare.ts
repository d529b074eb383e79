/** Sends all test requests to a server, directly or through an endpoint, and compares two sets of answers. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import type { PublishedServer } from './published.ts';
import type { Era, Heard, Speaker } from './speaker.ts';

const lists = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;
type ListMethod = keyof typeof lists;
const listMethods = Object.keys(lists) as ListMethod[];

/** The endpoint of the gateway: that of the server, or that of all servers. */
export type Endpoint = 'own' | 'all';

/** All requests, with their answers. */
export type Answers = ReadonlyMap<string, Heard>;

/** One member that differs. */
export interface Found {
  readonly server: string;
  readonly endpoint: Endpoint;
  /** The era of the client, and the era in which the server was used directly: they differ where the server has one era. */
  readonly era: Era;
  readonly directEra: Era;
  /** Whether the server sent no log message when it was used directly. */
  readonly isSilent: boolean;
  /** The method and its target. */
  readonly question: string;
  /** The path in the answer, such as `result.tools[].name`. */
  readonly path: string;
  readonly direct: unknown;
  readonly through: unknown;
}

function entriesOf(answer: Message, method: ListMethod): readonly JsonObject[] {
  return (answer.result?.[lists[method]] ?? []) as readonly JsonObject[];
}

/** After this time an expected log message counts as missing. */
const remarkLimitMs = 15_000;

/** All pages of a list as one. */
async function wholeList(speaker: Speaker, method: ListMethod): Promise<Heard> {
  const entries: JsonObject[] = [];
  for (let cursor: unknown; ;) {
    const { answer, before } = await speaker.request(method, cursor === undefined ? {} : { cursor });
    if (answer.result === undefined) return { answer, before };
    entries.push(...entriesOf(answer, method));
    cursor = answer.result['nextCursor'];
    if (cursor === undefined)
      return { answer: { ...answer, result: { ...answer.result, [lists[method]]: entries } }, before };
  }
}

/** The unchanged beginning of a name that the gateway had to change; a text that fits no name for any other. */
function withoutDigest(name: string): string {
  return /^(.+)_[0-9a-f]{8}$/.exec(name)?.[1] ?? `${name} was not changed`;
}

/**
 * The entries of this server in a list of an endpoint: first those that were listed directly, in that order and with undefined for missing ones, then the
 * others.
 */
function ofServer(
  server: string,
  endpoint: Endpoint,
  method: ListMethod,
  direct: readonly JsonObject[],
  listed: readonly JsonObject[],
): readonly unknown[] {
  if (method === 'resources/templates/list')
    return direct.map(
      (template) =>
        listed.find((entry) => isDeepStrictEqual(entry, template)) ??
        listed.find(({ uriTemplate }) => uriTemplate === template['uriTemplate']),
    );
  const identity = method === 'resources/list' ? 'uri' : 'name';
  const before = identity === 'uri' ? `omnibus://${server}/` : `${server}__`;
  const own =
    endpoint === 'own' || identity === 'uri'
      ? listed
      : listed.filter(({ name }) => (name as string).startsWith(before));
  const found = direct.map((entry) => {
    const names = [`${before}${entry[identity] as string}`, entry[identity]];
    // A name that had to be changed still begins like the original.
    const changed = (entry[identity] as string).replaceAll(/[^A-Za-z0-9_-]/g, '_');
    return (
      names.map((name) => own.find((other) => other[identity] === name)).find((each) => each !== undefined) ??
      own.find(
        (other) =>
          identity === 'name' &&
          changed.startsWith(withoutDigest((other['name'] as string).replace(endpoint === 'all' ? before : '', ''))),
      )
    );
  });
  return [...found, ...(endpoint === 'all' && identity === 'uri' ? [] : own.filter((entry) => !found.includes(entry)))];
}

/** Reads all lists. @returns their answers with the entries of this server alone, and the public names and URIs of entries by method and own name. */
async function askLists(
  speaker: Speaker,
  server: PublishedServer,
  endpoint: Endpoint,
  direct: Answers | undefined,
): Promise<{ readonly answers: Map<string, Heard>; readonly shown: ReadonlyMap<string, string> }> {
  const answers = new Map<string, Heard>([['opening', { answer: speaker.opening, before: [] }]]);
  const shown = new Map<string, string>();
  for (const method of listMethods) {
    const whole = await wholeList(speaker, method);
    const before = direct?.get(method)?.answer;
    if (before === undefined || whole.answer.result === undefined) {
      answers.set(method, whole);
      continue;
    }
    const listed = entriesOf(before, method);
    const own = ofServer(server.name, endpoint, method, listed, entriesOf(whole.answer, method));
    answers.set(method, {
      ...whole,
      answer: { ...whole.answer, result: { ...whole.answer.result, [lists[method]]: own } },
    });
    // Resources are identified by URI, all other entries by name.
    const identity = method === 'resources/list' ? 'uri' : 'name';
    for (const [index, entry] of listed.entries()) {
      const public_ = (own[index] as JsonObject | undefined)?.[identity];
      if (typeof public_ === 'string') shown.set(`${method} ${entry[identity] as string}`, public_);
    }
  }
  return { answers, shown };
}

/**
 * Sends all test requests.
 * @param direct the direct answers of the server; left out when this is the direct connection.
 * @returns the requests with the server's own names, and their answers.
 */
export async function askAll(
  speaker: Speaker,
  server: PublishedServer,
  endpoint: Endpoint,
  direct?: Answers,
): Promise<Answers> {
  const { answers, shown } = await askLists(speaker, server, endpoint, direct);
  const named = (method: ListMethod, original: string): string =>
    shown.get(`${method} ${original}`) ??
    (direct !== undefined && endpoint === 'all' && method !== 'resources/list'
      ? `${server.name}__${original}`
      : original);
  const isRemark = remarkOf(server);
  const ask = async (question: string, method: string, params: JsonObject): Promise<void> => {
    const { answer, before } = await speaker.request(method, params);
    answers.set(question, { answer, before: before.filter((message) => !isRemark(message)) });
  };
  const call = (question: string, name: string, args: JsonObject | undefined): Promise<void> =>
    ask(`tools/call ${question}`, 'tools/call', {
      name: named('tools/list', name),
      _meta: { progressToken: 'of this call' },
      ...(args === undefined ? {} : { arguments: args }),
    });
  const has = (method: ListMethod, name: string): boolean =>
    entriesOf(((direct ?? answers).get(method) as Heard).answer, method).some(
      (entry) => entry['name'] === name || entry['uri'] === name,
    );
  for (const [index, [tool, args]] of server.calls.entries())
    if (has('tools/list', tool)) await call(`${tool} (${index})`, tool, args);
  await call('unknown tool', 'nobody_has_this', {});
  const listed = (direct ?? answers).get('tools/list')?.answer;
  const strict = (listed === undefined ? [] : entriesOf(listed, 'tools/list')).find(({ inputSchema }) =>
    Array.isArray((inputSchema as JsonObject)['required']),
  );
  await askWrongly(call, strict);
  for (const [prompt, args] of server.prompts ?? [])
    if (has('prompts/list', prompt))
      await ask(`prompts/get ${prompt}`, 'prompts/get', { name: named('prompts/list', prompt), arguments: args });
  await ask('prompts/get unknown prompt', 'prompts/get', { name: named('prompts/list', 'nobody_has_this') });
  for (const uri of server.reads ?? [])
    await ask(`resources/read ${uri}`, 'resources/read', { uri: named('resources/list', uri) });
  await ask('resources/read unknown resource', 'resources/read', { uri: 'nobody://has/this' });
  for (const [index, params] of (server.completions ?? []).entries()) {
    const ref = params['ref'] as JsonObject;
    const public_ = typeof ref['name'] === 'string' ? { ...ref, name: named('prompts/list', ref['name']) } : ref;
    await ask(`completion/complete (${index})`, 'completion/complete', { ...params, ref: public_ });
  }
  await ask('completion/complete unknown prompt', 'completion/complete', {
    ref: { type: 'ref/prompt', name: named('prompts/list', 'nobody_has_this') },
    argument: { name: 'a', value: '' },
  });
  await ask('tools/list bad cursor', 'tools/list', { cursor: 'nobody gave this' });
  if (speaker.era === 'legacy') await ask('logging/setLevel of no level', 'logging/setLevel', { level: 'loud' });
  await ask('unknown method', 'nobody/knows', {});
  if (server.remark !== undefined && speaker.era === 'legacy' && 'roots' in speaker.capabilities) {
    await untilRemark(speaker, isRemark);
    answers.set('of its own accord', { answer: { result: {} }, before: speaker.logs.values.filter(isRemark) });
  }
  return answers;
}

const remarkOf =
  ({ remark }: PublishedServer) =>
  ({ method, params = {} }: Message): boolean =>
    method === 'notifications/message' && remark?.test(JSON.stringify(params['data'])) === true;

/** The program of the server starts with the first call, and needs some time. */
async function untilRemark(speaker: Speaker, isRemark: (message: Message) => boolean): Promise<void> {
  const limit = AbortSignal.timeout(remarkLimitMs);
  await Promise.race([
    speaker.logs.untilSome(isRemark),
    new Promise((resolve) => limit.addEventListener('abort', resolve)),
  ]);
}

/** Calls a tool whose schema requires an argument, with arguments that are not those. */
async function askWrongly(
  call: (question: string, name: string, args: JsonObject | undefined) => Promise<void>,
  tool: JsonObject | undefined,
): Promise<void> {
  if (tool === undefined) return;
  const { name, inputSchema } = tool;
  const [required] = (inputSchema as { required: [string] }).required;
  await call('arguments that are missing', name as string, {});
  await call('no arguments', name as string, undefined);
  await call('an argument of another type', name as string, { [required]: { odd: [1] } });
}

/** Members that differ, from the outside in; `undefined` stands for a missing member. */
function* differing(
  path: string,
  direct: unknown,
  through: unknown,
): Generator<Pick<Found, 'path' | 'direct' | 'through'>> {
  if (isDeepStrictEqual(direct, through)) return;
  if (Array.isArray(direct) && Array.isArray(through)) {
    for (let index = 0; index < Math.max(direct.length, through.length); index += 1)
      yield* differing(`${path}[]`, direct[index], through[index]);
  } else if (isObject(direct) && isObject(through)) {
    for (const name of new Set([...Object.keys(direct), ...Object.keys(through)]))
      yield* differing(`${path}.${name}`, direct[name], through[name]);
  } else yield { path, direct, through };
}

/** The part of an answer that is compared: ids differ on each connection, and earlier messages are compared by their content. */
function comparable({ answer, before }: Heard): Readonly<Record<string, unknown>> {
  const said = (isWanted: (method: string) => boolean): unknown[] =>
    before.filter(({ method = '' }) => isWanted(method)).map(({ method, params }) => ({ method, params }));
  return {
    ...(answer.result === undefined ? {} : { result: answer.result }),
    ...(answer.error === undefined ? {} : { error: answer.error }),
    progress: said((method) => method === 'notifications/progress'),
    logs: said((method) => method === 'notifications/message'),
    questions: said((method) => !method.startsWith('notifications/')),
  };
}

export function compare(
  direct: Answers,
  through: Answers,
  where: Omit<Found, 'question' | 'path' | 'direct' | 'through' | 'isSilent'>,
): Found[] {
  const isSilent = ![...direct.values()].some(({ before }) =>
    before.some(({ method }) => method === 'notifications/message'),
  );
  return [...direct].flatMap(([question, heard]) => {
    const other = through.get(question);
    // Some requests exist in one era only.
    if (other === undefined)
      return where.era === where.directEra
        ? [{ ...where, isSilent, question, path: '', direct: heard.answer, through: undefined }]
        : [];
    const [before, after] = [comparable(heard), comparable(other)];
    return [...new Set([...Object.keys(before), ...Object.keys(after)])]
      .flatMap((part) => [...differing(part, before[part], after[part])])
      .map((found) => ({ ...where, isSilent, question, ...found }));
  });
}
