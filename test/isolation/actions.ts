/** The actions of clients, and the checks of their results. */
import { isObject, type JsonObject } from '@omnibus/protocol';
import type { Message } from '../support/raw-client.ts';
import { Caller, type Reply } from './caller.ts';
import type { KeeperRevision } from './keeper.ts';
import { markerIn } from './markers.ts';

type Isolation = 'auto' | 'shared' | 'principal' | 'session';

export interface ServerUnderTest {
  readonly name: string;
  readonly transport: 'stdio' | 'http' | 'sse' | 'ws';
  readonly revision: KeeperRevision;
  readonly isolation: Isolation;
}

/** Done, refused for a named reason, or cut off. */
export type Ending = 'done' | `refused: ${string}` | `broken: ${string}`;

type Action = (caller: Caller, server: ServerUnderTest) => Promise<Ending>;

const relatedTask = 'io.modelcontextprotocol/related-task';
const noticeMs = 60_000;
/** Bound on calls of a tool while the gateway still reads lists for a signed-in user. */
const maxCallsAgain = 200;
/** Bound on readings of a list that changes while it is read: more than there are sets of capabilities that one user's clients declare. */
const maxReadings = 10;

/** Checks that an answer has the marker of its request. */
function judge({ last, broken, messages }: Reply, marker: string): Ending {
  for (const { params, method } of messages) {
    const about = method === 'notifications/progress' ? markerIn(JSON.stringify(params)) : undefined;
    if (about !== undefined && about !== marker)
      throw new Error(`progress of ${about} came on the stream of ${marker}`);
  }
  if (last === undefined) return `broken: ${broken}`;
  if (last.error !== undefined) return refusalOf(last);
  if (!JSON.stringify(last.result).includes(marker))
    throw new Error(`the answer to ${marker} is ${JSON.stringify(last)}`);
  return 'done';
}

function refusalOf({ error }: Message): Ending {
  const reason = error?.data?.['reason'];
  return `refused: ${typeof reason === 'string' ? reason : (error?.message ?? 'no result')}`;
}

/** Calls a tool, and retries if the gateway answers that it has not called it: a new worker does not know the user's tools yet. */
async function call(
  caller: Caller,
  server: ServerUnderTest,
  tool: string,
  args: JsonObject,
  more: JsonObject = {},
): Promise<Reply> {
  let reply = await callOnce(caller, server, tool, args, more);
  for (let again = 0; again < maxCallsAgain && isToBeCalledAgain(reply); again += 1)
    reply = await callOnce(caller, server, tool, args, more);
  return reply;
}

function isToBeCalledAgain({ last }: Reply): boolean {
  return (
    last?.result?.['isError'] === true &&
    JSON.stringify(last.result).includes('The tool was not called before that: call it again.')
  );
}

function callOnce(
  caller: Caller,
  server: ServerUnderTest,
  tool: string,
  args: JsonObject,
  more: JsonObject,
): Promise<Reply> {
  const id = caller.newId();
  return caller.request(
    'tools/call',
    {
      name: `${server.name}__${tool}`,
      arguments: args,
      ...more,
      _meta: {
        progressToken: `of ${JSON.stringify(id)}`,
        'test/marker': String(args['marker']),
        ...(more['_meta'] as JsonObject | undefined),
      },
    },
    id,
  );
}

async function judged(caller: Caller, server: ServerUnderTest, tool: string, args: JsonObject = {}): Promise<Ending> {
  const marker = caller.newMarker();
  return judge(await call(caller, server, tool, { marker, ...args }), marker);
}

/** Actions that every client can do. */
export const plain = {
  echo: (caller, server) => judged(caller, server, 'echo'),
  talk: (caller, server) => judged(caller, server, 'talk'),
  'talk, beside': (caller, server) => judged(caller, server, 'talk', { via: 'standing' }),
  count: (caller, server) => judged(caller, server, 'count'),

  async fail(caller, server) {
    const marker = caller.newMarker();
    const { last, broken } = await call(caller, server, 'fail', { marker });
    if (last === undefined) return `broken: ${broken}`;
    if (last.error?.code !== -32_050) return refusalOf(last);
    if (last.error.data?.['marker'] !== marker) throw new Error(`the error of ${marker} is ${JSON.stringify(last)}`);
    return 'done';
  },

  async read(caller, server) {
    const marker = caller.newMarker();
    return judge(await caller.request('resources/read', { uri: noteOf(server, marker) }), marker);
  },

  async prompt(caller, server) {
    const marker = caller.newMarker();
    return judge(await caller.request('prompts/get', { name: `${server.name}__tell`, arguments: { marker } }), marker);
  },

  async complete(caller, server) {
    if (server.revision === '2024-11-05') return 'done';
    const marker = caller.newMarker();
    return judge(
      await caller.request('completion/complete', {
        ref: { type: 'ref/prompt', name: `${server.name}__tell` },
        argument: { name: 'marker', value: marker },
      }),
      marker,
    );
  },

  async lists(caller) {
    let readings = 1;
    for (let cursor: unknown; ;) {
      const { last, broken } = await caller.request('tools/list', cursor === undefined ? {} : { cursor });
      // A list that has changed meanwhile, as when the lists of the client's user were read, is read from its beginning.
      const isChanged = cursor !== undefined && last?.error?.data?.['reason'] === 'cursor.invalid';
      if (isChanged && readings < maxReadings) {
        readings += 1;
        cursor = undefined;
        continue;
      }
      if (last?.result === undefined) return `broken: ${broken ?? JSON.stringify(last)}`;
      cursor = last.result['nextCursor'];
      if (cursor === undefined) return 'done';
    }
  },

  async cancel(caller, server) {
    const id = caller.newId();
    const waiting = caller.request(
      'tools/call',
      { name: `${server.name}__wait`, arguments: { marker: caller.newMarker() } },
      id,
    );
    await judged(caller, server, 'echo');
    await caller.cancel(id);
    await waiting;
    return 'done';
  },

  async subscribe(caller, server) {
    const marker = caller.newMarker();
    const uri = noteOf(server, marker);
    const isNotice = ({ method, params }: { readonly method?: string; readonly params?: JsonObject }): boolean =>
      method === 'notifications/resources/updated' && params?.['uri'] === uri;
    if (!caller.isModern) {
      const { last, broken } = await caller.request('resources/subscribe', { uri });
      if (last?.result === undefined) return last === undefined ? `broken: ${broken}` : refusalOf(last);
    }
    const listening = caller.isModern ? listen(caller, uri) : undefined;
    const problem = await listening?.problem;
    if (listening !== undefined && problem !== undefined) {
      await listening.close();
      return `broken: ${problem}`;
    }
    const ending = judge(await call(caller, server, 'touch', { marker }), marker);
    // The two requests may reach different processes of one server, which share no state, so the notification may be missing.
    const isTold = server.transport === 'stdio' || (await within(caller.pushed.untilSome(isNotice))) !== undefined;
    if (listening === undefined) await caller.request('resources/unsubscribe', { uri });
    else await listening.close();
    return ending === 'done' && !isTold ? 'refused: not told' : ending;
  },
} satisfies Record<string, Action>;

/** Actions for clients that answer questions, or support tasks. */
export const asking = {
  sampling: (caller, server) => ask(caller, server, 'sampling', 'own'),
  'sampling, beside': (caller, server) => ask(caller, server, 'sampling', 'standing'),
  form: (caller, server) => ask(caller, server, 'form', 'own'),
  'form, beside': (caller, server) => ask(caller, server, 'form', 'standing'),
  url: (caller, server) => ask(caller, server, 'url', 'own'),
  roots: (caller, server) => ask(caller, server, 'roots', 'own'),
  'roots, beside': (caller, server) => ask(caller, server, 'roots', 'standing'),

  async task(caller, server) {
    if (server.revision !== '2025-11-25' || caller.kind.revision !== '2025-11-25') return 'done';
    const marker = caller.newMarker();
    const created = await call(caller, server, 'task', { marker }, { task: { ttl: 60_000 } });
    const task = created.last?.result?.['task'];
    if (!isObject(task)) return judge(created, marker);
    const { taskId } = task;
    judge(await caller.request('tasks/get', { taskId }), marker);
    for (let cursor: unknown, first = true; first || cursor !== undefined; first = false) {
      const { last } = await caller.request('tasks/list', cursor === undefined ? {} : { cursor });
      cursor = last?.result?.['nextCursor'];
    }
    const result = await caller.request('tasks/result', {
      taskId,
      _meta: { [relatedTask]: { taskId }, ...(caller.kind.isAskable ? { 'test/asks': true } : {}) },
    });
    return judge(result, marker);
  },

  async job(caller, server) {
    if (server.revision !== '2026-07-28' || !caller.isModern || !caller.kind.isAskable) return 'done';
    const marker = caller.newMarker();
    const created = await call(caller, server, 'job', { marker });
    const taskId = created.last?.result?.['taskId'];
    if (typeof taskId !== 'string') return judge(created, marker);
    const asked = await caller.request('tasks/get', { taskId });
    const requests = Object.entries(
      (asked.last?.result?.['inputRequests'] ?? {}) as Record<
        string,
        { readonly method: string; readonly params: JsonObject }
      >,
    );
    if (requests.length === 0) return judge(asked, marker);
    await caller.request('tasks/update', {
      taskId,
      inputResponses: Object.fromEntries(requests.map(([key, request]) => [key, caller.answerTo(request)])),
    });
    return judge(await caller.request('tasks/get', { taskId }), marker);
  },
} satisfies Record<string, Action>;

/** A question to a client without the capability is refused by its server; one that cannot be attributed is refused by the gateway. */
async function ask(caller: Caller, server: ServerUnderTest, what: string, via: 'own' | 'standing'): Promise<Ending> {
  if (!knows(caller.kind.revision, what) || !knows(server.revision, what)) return 'done';
  const marker = caller.newMarker();
  const reply = await call(caller, server, 'ask', { marker, what, via });
  const said = Caller.textOf(reply);
  // The gateway ends the call when a server of 2026-07-28 requires input that the client cannot give.
  if (said.includes('was refused by the client')) return 'refused: the client cannot be asked';
  const ending = judge(reply, marker);
  const refusal = said.includes('{\\"roots\\":[]}') ? 'no roots' : /refused: ([^"\\]*)/.exec(said)?.[1];
  return ending === 'done' && refusal !== undefined ? `refused: ${refusal}` : ending;
}

function knows(revision: string, what: string): boolean {
  return what === 'url' ? revision >= '2025-11-25' : what === 'form' ? revision >= '2025-06-18' : true;
}

function noteOf({ name }: ServerUnderTest, marker: string): string {
  return `keeper-${name}://note/${marker}`;
}

function listen(
  caller: Caller,
  uri: string,
): { readonly problem: Promise<string | undefined>; readonly close: () => Promise<void> } {
  const id = caller.newId();
  const isOurs = ({ method, params }: { readonly method?: string; readonly params?: JsonObject }): boolean =>
    method === 'notifications/subscriptions/acknowledged' &&
    (params?.['_meta'] as JsonObject)['io.modelcontextprotocol/subscriptionId'] === id;
  void caller.once('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } }, id);
  const acknowledged = within(caller.pushed.untilSome(isOurs));
  return {
    problem: acknowledged.then((message) =>
      message === undefined
        ? 'not acknowledged'
        : JSON.stringify(message.params).includes(uri)
          ? undefined
          : 'acknowledged without it',
    ),
    close: () => caller.cancel(id),
  };
}

/** @returns undefined when it did not happen in time. */
async function within<Value>(happens: Promise<Value>): Promise<Value | undefined> {
  const late = Promise.withResolvers<undefined>();
  const limit = setTimeout(() => late.resolve(undefined), noticeMs);
  const happened = await Promise.race([happens, late.promise]);
  clearTimeout(limit);
  return happened;
}
