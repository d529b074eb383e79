/** The servers, callers and gateway of the table of features inside scripts. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Approval, Approvals } from '@omnibus/admin-api';
import type { JsonObject } from '@omnibus/protocol';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import type { Shape } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { untilThere } from '../support/paced.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { RawClient } from '../support/raw-client.ts';
import { StandInApi } from '../support/stand-in-api.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { EraServer } from './era-server.ts';

const letters = 100_000;
const own: Readonly<Record<string, string>> = {
  card: 'card 4111111111111111',
  large: 'x'.repeat(letters),
  mailed: 'write to ann@example.com',
};
const workTools = [
  ...['drop', 'card', 'refund', 'wire', 'few', 'large', 'read', 'send', 'blocked', 'plain', 'mailed', 'undecided'].map(
    tool,
  ),
  {
    name: 'shaped',
    inputSchema: {
      type: 'object',
      properties: { q: { type: 'string' }, team: { type: 'string' } },
      required: ['q', 'team'],
    },
  },
  tool('hangs'),
];
/** Clients see one argument of it, by another name. */
const shaped = { arguments: { q: { name: 'query' }, team: { fixed: 'acme' } } };
const guardrails = [
  { id: 'short', what: 'work/plain', size: { arguments: 100 }, on: 'requests', action: 'deny' },
  { id: 'no-mails', what: 'work/mailed', patterns: 'email', on: 'results', action: 'change' },
];
const composites = {
  both: {
    description: 'Two calls.',
    inputSchema: { type: 'object', properties: { say: { type: 'string' } }, required: ['say'] },
    steps: [
      { id: 'one', call: 'work/plain' },
      { id: 'two', call: 'old/echo', arguments: { say: '{steps.one}, {args.say}' } },
    ],
  },
};
/** Of an HTTP API that repeats its requests. */
const apiDocument = JSON.stringify({
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
        responses: {},
      },
    },
  },
});

const rules = [
  { id: 'no-drops', who: 'everyone', deny: 'work/drop', args: { n: { max: 5 } }, because: 'it is kept' },
  { id: 'cards', who: 'everyone', redact: 'work/card', patterns: ['card'] },
  { id: 'refunds', who: 'everyone', ask: 'work/refund' },
  { id: 'wires', who: 'everyone', ask: 'work/wire', approvers: ['key:fin'] },
  { id: 'reads', who: 'everyone', label: 'work/read', as: 'seen' },
  { id: 'sends', who: 'everyone', deny: 'work/send', after: 'seen' },
];

export interface ScriptGround extends AsyncDisposable {
  readonly url: string;
  /** A server of 2025-11-25, and one of 2026-07-28. */
  readonly old: EraServer;
  readonly new: EraServer;
  readonly work: Upstream;
  readonly headersOf: (user: string) => Readonly<Record<string, string>>;
  /** A request to the admin API. */
  readonly admin: <Answer = JsonObject>(as: string, path: string, body?: object, method?: string) => Promise<Answer>;
  /** The call that waits for an approval and has these arguments, as JSON. */
  readonly waiting: (args: string) => Promise<Approval>;
  /** All audit records so far. */
  readonly records: () => Promise<readonly JsonObject[]>;
  /** Signs a user in at the server with data for each user. */
  readonly signIn: (user: string) => Promise<void>;
}

/** Requests to the admin port with the keys of users. */
function adminOf(address: string, keys: Keys): ScriptGround['admin'] {
  return async <Answer>(
    as: string,
    path: string,
    body?: object,
    method = body === undefined ? 'GET' : 'POST',
  ): Promise<Answer> => {
    const response = await fetch(`http://${address}/api/v1${path}`, {
      method,
      headers: { ...keys.headersOf(as), 'content-type': 'application/json', 'x-omnibus-console': '1' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const said = await response.text();
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${said}`);
    return JSON.parse(said) as Answer;
  };
}

/** A server whose tools return texts. */
const startWork = (): Promise<Upstream> =>
  Upstream.start({
    tools: workTools,
    onCall: (call) => {
      if (call.name !== 'hangs') call.answer(text(own[call.name] ?? `${call.name} is done`));
    },
  });

/** The complete lines of the audit files in a folder. */
async function recordsIn(folder: string): Promise<readonly JsonObject[]> {
  const files = await Promise.all((await readdir(folder)).map((file) => readFile(join(folder, file), 'utf8')));
  return files.flatMap((file) =>
    file
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line) as JsonObject),
  );
}

/** Signs a user in at the server with data for each user, with the tool that it has for that. */
async function connectPersonal(client: RawClient, server: PersonalServer, user: string): Promise<void> {
  const said = async (args: JsonObject = {}): Promise<string> =>
    JSON.stringify((await client.callTool('personal__connect', args)).last);
  const page = await signInAt(
    /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(await said())?.[0] ?? '',
    server.signsInAs(user),
  );
  const code = /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1] ?? '';
  if (!(await said({ code })).includes('You are signed in')) throw new Error(`${user} could not be signed in`);
}

/** One tool of each server. */
const expectedTools = ['old__echo', 'new__echo', 'work__read', 'still__echo', 'personal__connect', 'pets__getPet'];

/** What is the same for all users and revisions. @param users their scripts are limited. @param decisions the address of the decision point. */
const optionsOf = (users: readonly string[], decisions: string): object => ({
  listing: 'code',
  profiles: { all: { listing: 'full', results: 'off' } },
  results: { maxTokens: 500 },
  access: { default: 'allow', rules, approvals: { clients: true }, decisions: { url: decisions, timeout: '20s' } },
  guardrails,
  composites,
  limits: {
    rules: [
      { id: 'few', what: ['work/few'], rate: '2/h' },
      { id: 'scripts', who: users.map((user) => `key:limited-${user}`), what: ['omnibus/run_code'], rate: '2/h' },
    ],
  },
});

/** An HTTP API that repeats requests, and a decision point that denies one tool. */
const startApi = (): Promise<StandInApi> =>
  StandInApi.start(({ url, body }, response) => {
    if (!url.startsWith('/access/')) return false;
    const { evaluations = [], ...only } = JSON.parse(body) as { readonly evaluations?: readonly JsonObject[] };
    const decided = (asked: JsonObject): JsonObject => ({
      decision:
        !('arguments' in ((asked['context'] ?? {}) as JsonObject)) || !JSON.stringify(asked).includes('work/undecided'),
    });
    const answer = url.endsWith('/evaluations')
      ? { evaluations: evaluations.map((each) => decided({ ...only, ...each })) }
      : decided(only);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    return true;
  });

/** @param users each has a key. */
export async function startScriptGround(shape: Shape, users: readonly string[]): Promise<ScriptGround> {
  await using starting = new AsyncDisposableStack();
  const old = starting.use(await EraServer.start('2025-11-25'));
  const modern = starting.use(await EraServer.start('2026-07-28'));
  const work = starting.use(await startWork());
  const still = starting.use(await Upstream.start());
  const personal = starting.use(await PersonalServer.start());
  const api = starting.use(await startApi());
  const keys = starting.use(await Keys.make(...users, ...users.map((user) => `limited-${user}`), 'fin', 'ops'));
  const front = starting.use(await Balancer.start());
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-scripts-'));
  starting.defer(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'pets.json'), apiDocument);
  const gateway = starting.use(
    await startGatewayHere(shape, {
      publicUrl: front.url,
      auth: { ...keys.auth, admin: { roles: { approver: ['key:fin'], operator: ['key:ops'] } } },
      vault: { file: join(folder, 'vault.json'), keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] },
      ...optionsOf(users, api.url),
      mcpServers: {
        old: { url: old.url },
        new: { url: modern.url },
        work: { url: work.url, validation: 'enforce', tools: { shaped, hangs: { timeout: '300ms' } } },
        pets: { openapi: join(folder, 'pets.json'), url: api.url },
        still: { url: still.url },
        personal: { url: personal.url, credentials: { kind: 'oauth' } },
      },
      audit: { sinks: [{ kind: 'file', folder: join(folder, 'audit') }] },
    }),
  );
  front.edges = [gateway.url];
  const all = `${gateway.url}/all`;
  const [first = ''] = users;
  using client = await RawClient.open(all, '2025-11-25', keys.headersOf(first));
  await client.untilTools((names) => expectedTools.every((name) => names.includes(name)));
  const session = shape === 'nats' ? (gateway.processes[1] ?? gateway.edge) : gateway.edge;
  const admin = adminOf(await gateway.admin(session), keys);
  const stack = starting.move();
  return {
    url: gateway.url,
    old,
    new: modern,
    work,
    headersOf: (user) => keys.headersOf(user),
    admin,
    waiting: (args) =>
      untilThere(async () => {
        const { approvals } = await admin<Approvals>('fin', '/approvals');
        return approvals.find((each) => each.state === 'waiting' && each.arguments === args);
      }),
    records: () => recordsIn(join(folder, 'audit')),
    async signIn(user) {
      using raw = await RawClient.open(all, '2025-11-25', keys.headersOf(user));
      await connectPersonal(raw, personal, user);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
