/** Every command of the command table, on a pseudo-terminal and in a pipe. A new command must be added here too. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandTable, createProgram } from '@omnibus/cli';
import { jsonShapes, withoutJson } from '@omnibus/cli/json-shapes';
import { exits } from '@omnibus/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { inHere } from '../support/command-here.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { isLongLane } from '../support/lane.ts';
import { fixturePath } from '../support/processes.ts';
import { Link } from '../support/link.ts';
import { RawClient } from '../support/raw-client.ts';
import { inPipe, onTerminal } from '../support/terminal.ts';

interface Case {
  readonly args?: (at: Place) => readonly string[];
  /** Expected exit; default: success. */
  readonly ends?: keyof typeof exits;
  readonly stdin?: string;
  /** Input on a terminal, each when the output matches. */
  readonly typed?: readonly (readonly [RegExp, string])[];
  /** Whether it prints one line of JSON for each item. */
  readonly isLines?: true;
  /** Whether it changes something at the gateway that two of it cannot change at once. */
  readonly changes?: true;
}

interface Place {
  readonly admin: string;
  readonly url: string;
  readonly folder: string;
  readonly key: string;
  readonly tag: string;
}

const admin = ({ admin: address }: Place): readonly string[] => ['--admin', address];
const nobody = (): readonly string[] => ['--config', 'nowhere.yaml'];
const waits = 60_000;

const cases: Readonly<Record<string, Case>> = {
  serve: { args: nobody, ends: 'config' },
  stdio: { args: nobody, ends: 'config' },
  doctor: {},
  reload: { args: admin },
  block: { args: (at) => ['client', 'nobody', '--for', '1m', ...admin(at)] },
  unblock: { args: (at) => ['client', 'somebody', ...admin(at)], ends: 'unknown' },
  blocks: { args: admin },
  // Local callers have no role that permits it; its output is checked in test/outside/teams.test.ts.
  usage: { args: admin, ends: 'forbidden' },
  recover: { args: admin, ends: 'config' },
  check: {},
  migrate: { args: () => ['old.yaml'] },
  'nats-permissions': {},
  'nats setup': { args: nobody, ends: 'config' },
  expose: { args: () => ['--listen', 'nowhere', '--', 'node'], ends: 'usage' },
  copy: { args: () => ['omnibus.yaml/folder'], ends: 'other' },
  'definitions status': { args: admin },
  'definitions diff': { args: (at) => ['use', ...admin(at)] },
  'definitions approve': { args: (at) => ['use', '--yes', ...admin(at)], changes: true },
  'policy test': { args: () => ['cases.yaml'] },
  'policy explain': { args: () => ['nobody', 'use/add', '--config', 'rules.yaml'] },
  'policy replay': { args: () => ['calls.jsonl', '--config', 'rules.yaml', '--flow', 'guarded'] },
  'policy diff': { args: () => ['rules.yaml', 'rules.yaml'] },
  'approvals list': { args: admin },
  'approvals show': { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  'approvals approve': { args: (at) => ['nothing', '--yes', ...admin(at)], ends: 'unknown' },
  'approvals deny': { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  'approvals withdraw': { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  'grants list': { args: admin },
  'grants request': {
    args: (at) => ['night', '--for', '30m', '--reason', 'incident 4711', ...admin(at)],
    ends: 'forbidden',
  },
  'grants approve': { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  'grants deny': { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  'grants end': { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  'labels list': { args: admin },
  'labels clear': {
    args: (at) => ['untrusted', '--conversation', 'nothing', '--reason', 'a test', ...admin(at)],
    ends: 'unknown',
  },
  tools: {},
  call: { args: () => ['add', 'a=1', 'b=2'] },
  prompts: {},
  get: { args: () => ['greet', 'who=Ada'] },
  resources: {},
  read: { args: () => ['note://a'] },
  complete: { args: () => ['greet', 'who=A'] },
  add: { args: () => ['another', 'http://127.0.0.1:1/mcp', '--no-try'], typed: [[/Write this\?/, '\r']] },
  remove: { args: () => ['use'], typed: [[/Write this\?/, '\r']] },
  import: { args: () => ['client.json', '--yes'] },
  'search-model add': { args: () => ['nowhere'], ends: 'usage' },
  search: { args: (at) => ['--registry', new URL(at.url).origin] },
  clients: {},
  connect: { args: () => ['cursor', '--file', 'client.json', '--yes'] },
  disconnect: { args: () => ['cursor', '--file', 'client.json', '--yes'] },
  status: { args: admin },
  sessions: { args: admin },
  restart: { args: (at) => ['idle', ...admin(at)] },
  pause: { args: (at) => ['idle', '--for', '1m', '--because', 'tests', ...admin(at)] },
  resume: { args: (at) => ['nothing', ...admin(at)], ends: 'unknown' },
  completion: { args: () => ['fish'] },
  docs: { args: () => ['timeouts'] },
  'calls list': { args: admin },
  'calls show': { args: (at) => [at.tag, ...admin(at)] },
  // Its address has no endpoint, since that of the call is added.
  'calls replay': { args: (at) => [at.tag, '--args', '{}', '--url', at.url, ...admin(at)], ends: 'toolError' },
  logs: { args: (at) => ['use', ...admin(at)] },
  top: { args: (at) => ['--once', ...admin(at)] },
  tokens: { args: admin },
  'sign-in': { args: ({ url }) => ['use', '--url', url] },
  'connections list': { args: ({ url }) => ['--url', url], ends: 'unreachable' },
  'connections remove': { args: ({ url }) => ['--user', 'nobody', '--url', url], ends: 'usage' },
  'connections revoke': { args: ({ url }) => ['use', '--url', url], ends: 'unreachable' },
  'keys create': { args: () => ['--subject', 'ann'] },
  'keys list': {},
  'keys revoke': { args: ({ key }) => [key] },
  // The gateway of this file has no authorization server; their output is checked in test/outside/agents.test.ts.
  'agents add': { args: (at) => ['bot', '--owner', 'ann', ...admin(at)], ends: 'forbidden' },
  'agents list': { args: admin, ends: 'other' },
  'agents show': { args: (at) => ['bot', ...admin(at)], ends: 'other' },
  'agents block': { args: (at) => ['bot', '--for', '1m', ...admin(at)] },
  'agents unblock': { args: (at) => ['nobody', ...admin(at)], ends: 'unknown' },
  'agents rotate': { args: (at) => ['bot', ...admin(at)], ends: 'forbidden' },
  'signing-keys list': { args: admin, ends: 'other' },
  'signing-keys rotate': { args: admin, ends: 'forbidden' },
  'agents remove': { args: (at) => ['bot', ...admin(at)], ends: 'forbidden' },
  'users add': {
    args: () => ['bob', '--file', 'users.yaml'],
    stdin: 'a long enough password\n',
    typed: [[/Password of bob/, 'a long enough password\r']],
  },
  'users list': { args: () => ['--file', 'users.yaml'] },
  'users show': { args: (at) => ['ann', ...admin(at)], ends: 'other' },
  'users revoke': { args: (at) => ['ann', 'P1', ...admin(at)], ends: 'other' },
  'users remove': { args: () => ['ann', '--file', 'users.yaml'] },
  'audit verify': { args: () => ['records.jsonl'], ends: 'changed' },
  'audit search': { args: () => ['records.jsonl'], isLines: true },
  'vault status': { args: nobody, ends: 'config' },
  'vault rotate': { args: nobody, ends: 'config' },
  'vault backup': { args: () => ['copy.json', '--config', 'nowhere.yaml'], ends: 'config' },
  'vault restore': { args: () => ['copy.json', '--config', 'nowhere.yaml'], ends: 'config' },
  login: { args: ({ url }) => [url] },
  logout: { args: ({ url }) => [url] },
  whoami: { args: () => ['https://signed.example/mcp', '--tokens', 'tokens.json'] },
  token: { args: () => ['https://signed.example/mcp', '--tokens', 'tokens.json'] },
};

let gateway: GatewayHere;
let place: Place;
let template: string;
let env: Record<string, string>;
/** A port of this test at which no gateway is, in place of the admin port that commands ask by default. */
let nowhere: Link;

beforeAll(async () => {
  nowhere = await Link.open(() => undefined);
  template = await mkdtemp(join(tmpdir(), 'omnibus-table-'));
  const use = { command: 'node', args: [fixturePath('using-server')], definitions: 'warn' };
  gateway = await startGatewayHere('embedded', { mcpServers: { use, idle: { ...use, definitions: 'off' } } });
  env = {
    OMNIBUS_URL: `${gateway.url}/use`,
    OMNIBUS_ADMIN: `127.0.0.1:${nowhere.port}`,
    HOME: join(template, 'home'),
    XDG_CONFIG_HOME: join(template, 'home'),
  };
  const write = (name: string, content: unknown): Promise<void> =>
    writeFile(join(template, name), typeof content === 'string' ? content : JSON.stringify(content));
  await mkdir(join(template, 'home'));
  await write('omnibus.yaml', {
    listen: '127.0.0.1:0',
    admin: '127.0.0.1:0',
    auth: { keys: { file: 'keys.yaml' } },
    mcpServers: { use: { command: 'node', args: [fixturePath('using-server')] } },
  });
  await write('rules.yaml', {
    mcpServers: { use },
    auth: { keys: { file: 'keys.yaml' } },
    access: { rules: [{ id: 'all', who: 'everyone', allow: ['use/*'] }] },
  });
  await write('cases.yaml', { config: 'rules.yaml', cases: [{ as: 'nobody', call: 'use/add', expect: 'allow' }] });
  await write('old.yaml', { servers: { a: { serverUrl: 'http://127.0.0.1:1/mcp' } } });
  await write('client.json', {
    mcpServers: { taken: { url: 'http://127.0.0.1:2/mcp' }, omnibus: { url: 'http://127.0.0.1:7300/mcp' } },
  });
  await write('records.jsonl', '{"time":"2026-01-01T00:00:00Z","event.name":"mcp.call"}\n');
  await write(
    'calls.jsonl',
    '{"time":"2026-01-01T00:00:00Z","event.name":"mcp.call","mcp.method.name":"tools/call","omnibus.server":"use","omnibus.tool":"add","omnibus.outcome":"ok"}\n',
  );
  await write('tokens.json', {
    gateways: { 'https://signed.example/mcp': { issuer: 'https://i.example', clientId: 'c', accessToken: 'opaque' } },
  });
  const made = await inHere(['keys', 'create', '--subject', 'ann', '--json'], { cwd: template, env });
  await inHere(['users', 'add', 'ann', '--file', 'users.yaml'], {
    cwd: template,
    env,
    stdin: 'a long enough password\n',
  });
  const client = await RawClient.open(`${gateway.url}/use`);
  await client.request('tools/call', { name: 'fail', arguments: {} });
  const address = await gateway.admin(gateway.edge);
  const { calls } = JSON.parse((await inHere(['calls', '--json', '--admin', address], { env })).stdout) as {
    readonly calls: readonly { readonly tag: string }[];
  };
  place = {
    admin: address,
    url: gateway.url,
    folder: template,
    key: (JSON.parse(made.stdout) as { readonly id: string }).id,
    tag: (calls[0] as { readonly tag: string }).tag,
  };
});
afterAll(async () => {
  nowhere[Symbol.dispose]();
  await gateway[Symbol.asyncDispose]();
  await rm(template, { recursive: true, force: true });
});

/** The sequences that set a colour or another form of characters (ECMA-48, Select Graphic Rendition). */
const coloursIn = (text: string): readonly string[] =>
  text
    .split('\u001B[')
    .slice(1)
    .flatMap((part) => /^[\d;:]*m/.exec(part) ?? []);

/** The output of a failed command. */
const failure = z.strictObject({
  reason: z.string(),
  problem: z.string(),
  advice: z.string().optional(),
  retry: z.string().optional(),
});
const table = commandTable(createProgram(() => Promise.reject(new Error('no command runs here')))).map(({ words }) =>
  words.join(' '),
);

it('every command is tried', () => {
  expect(Object.keys(cases).toSorted()).toEqual(table.toSorted());
});

it.concurrent.each(table)(
  '%s answers JSON of its shape in a pipe and plain words on a terminal with NO_COLOR, with the same status',
  async (name) => {
    const { args, ends = 'done', stdin, typed, isLines, changes } = cases[name] as Case;
    const json = name in withoutJson ? [] : ['--json'];
    const run = async <Result>(
      how: (words: readonly string[], cwd: string) => Promise<Result>,
      more: readonly string[],
    ): Promise<Result> => {
      const cwd = await mkdtemp(join(tmpdir(), 'omnibus-command-'));
      try {
        await cp(template, cwd, { recursive: true });
        const words = [...(args?.(place) ?? [])];
        const end = words.indexOf('--');
        return await how(
          [
            ...name.split(' '),
            ...(end === -1 ? [...words, ...more] : [...words.slice(0, end), ...more, ...words.slice(end)]),
          ],
          cwd,
        );
      } finally {
        await rm(cwd, { recursive: true, force: true });
      }
    };
    // The gate runs them in this process, which loads the program once.
    const without = isLongLane ? inPipe : inHere;
    const inPipes = run((words, cwd) => without(words, { env, cwd, stdin: stdin ?? '' }), json);
    if (changes === true) await inPipes;
    const [piped, shown] = await Promise.all([
      inPipes,
      // The gate tries those on a terminal that ask there.
      isLongLane || typed !== undefined
        ? run((words, cwd) => onTerminal(words, typed, { env: { ...env, NO_COLOR: '1' }, cwd }), [])
        : { status: exits[ends].code, shown: '' },
    ]);
    expect({ piped: piped.status, shown: shown.status }, `${piped.stdout}${piped.stderr}${shown.shown}`).toEqual({
      piped: exits[ends].code,
      shown: exits[ends].code,
    });
    expect(piped.stdout + piped.stderr).not.toContain('\u001B');
    // Prompts move and hide the cursor, how often depends on when they are drawn again; nothing has a colour.
    expect(coloursIn(shown.shown)).toEqual([]);
    if (name in withoutJson) return;
    const answers = isLines === true ? piped.stdout.trim().split('\n') : [piped.stdout];
    const shape = jsonShapes[name] as z.ZodType;
    for (const answer of answers) {
      const said: unknown = JSON.parse(answer);
      const isFailure = failure.safeParse(said).success;
      if (isFailure) expect(ends).not.toBe('done');
      else expect(strict(shape).safeParse(said).error, name).toBeUndefined();
    }
  },
  waits,
);

/** The shape without unknown members. */
function strict(shape: z.ZodType): z.ZodType {
  return shape instanceof z.ZodObject && shape.def.catchall === undefined ? z.strictObject(shape.shape) : shape;
}

it('the status of each is in the documents', async () => {
  const documented = await readFile(new URL('../../docs/reference/commands.md', import.meta.url), 'utf8');
  for (const { code, meaning } of Object.values(exits)) expect(documented).toContain(`| ${code} | ${meaning} |`);
});
