/**
 * All stored data of a gateway are lost and restored as docs/how-to/backup.md describes; afterwards approvals, blocks, usage, sign-ins and audit records are
 * there again.
 */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Backups } from '@omnibus/bus/testing';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { startGateway, writeConfig, type Shape } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { end, omnibusProgram, startProcess } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { bearer, Browser, OAuthClient, type Tokens } from '../support/sign-in.ts';
import { text, tool, Upstream } from '../support/upstream.ts';
import { manageUsers } from '../support/users.ts';

const password = 'correct horse battery staple';
const transfer = tool('transfer');
const riskier = {
  ...transfer,
  inputSchema: { type: 'object', properties: { bcc: { type: 'string' } }, required: ['bcc'] },
};
const reasonOf = ({ last }: Answer): unknown => last.error?.data?.['reason'];
const said = ({ last }: Answer): string => JSON.stringify(last);

async function omnibus(...args: readonly string[]): Promise<{ readonly status: number; readonly output: string }> {
  const running = startProcess('node', [omnibusProgram, ...args]);
  const status = await new Promise<number>((resolve) => {
    running.child.once('close', (code) => resolve(code ?? -1));
  });
  return { status, output: running.output() };
}

describe('what is lost and restored', () => {
  let stack: AsyncDisposableStack;
  let folder: string;
  let bank: Upstream;
  let tickets: PersonalServer;
  let front: Balancer;
  let keys: Keys;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    folder = await mkdtemp(join(tmpdir(), 'omnibus-backup-'));
    stack.defer(() => rm(folder, { recursive: true }));
    bank = stack.use(
      await Upstream.start({
        tools: [transfer, tool('look'), tool('pay')],
        onCall: (call) => call.answer(text('done')),
      }),
    );
    tickets = stack.use(await PersonalServer.start());
    front = stack.use(await Balancer.start());
    keys = stack.use(await Keys.make('ann'));
  });

  afterEach(() => stack.disposeAsync());

  const start = async (shape: Shape, more: object): ReturnType<typeof startGateway> => {
    const gateway = stack.use(
      await startGateway(shape, {
        prefix: 'always',
        publicUrl: front.url,
        auth: { ...keys.auth, ...more },
        security: { definitionsFile: join(folder, 'definitions.json') },
        vault: {
          file: join(folder, 'vault.json'),
          ...(shape === 'nats' ? { keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] } : {}),
        },
        limits: { rules: [{ id: 'thrift', who: 'key:ann', what: ['bank/look'], quota: '3/month' }] },
        audit: { sinks: [shape === 'nats' ? { kind: 'jetstream' } : { kind: 'file', folder: join(folder, 'audit') }] },
        mcpServers: {
          bank: { url: bank.url, definitions: 'pin' },
          tickets: { url: tickets.url, credentials: { kind: 'oauth' } },
        },
      }),
    );
    front.edges = [gateway.url];
    return gateway;
  };
  /** Ann, who is authenticated by a key, has signed in for the server with separate data for each user. */
  const signInForTickets = async (client: RawClient): Promise<void> => {
    await client.untilTools((names) => names.length === 4);
    const address =
      /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(said(await client.callTool('tickets__connect')))?.[0] ?? '';
    const page = await signInAt(address, tickets.signsInAs('ann'));
    const code = /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1] ?? '';
    expect(said(await client.callTool('tickets__connect', { code }))).toContain('You are signed in');
    await client.untilTools((names) => names.includes('tickets__whose'));
    expect(said(await client.callTool('tickets__whose'))).toContain('ann');
  };
  /** The server's definitions have changed meanwhile; the approved ones and the sign-in are as before. */
  const isAsItWas = async (): Promise<RawClient> => {
    const client = stack.use(await RawClient.open(front.edges[0] as string, '2025-11-25', keys.headersOf('ann')));
    expect(
      await client.untilTools((names) => names.includes('bank__look') && names.includes('tickets__whose')),
    ).not.toContain('bank__transfer');
    expect(reasonOf(await client.callTool('bank__transfer'))).toBe('definition.held');
    expect(said(await client.callTool('tickets__whose'))).toContain('ann');
    return client;
  };

  it('of NATS, by snapshots of JetStream as `nats account backup` makes them, with users that have no other rights: pins, vault, sign-ins, blocks, quotas, audit', async () => {
    const usersFile = join(folder, 'users.yaml');
    expect(await manageUsers(usersFile, password, 'add', 'ben')).toBe(0);
    const gateway = await start('nats', { server: { users: { file: usersFile } } });
    const bus = gateway.bus as string;
    let tokens: Tokens;
    const oauth = await OAuthClient.register(front.url);
    {
      using client = await RawClient.open(gateway.url, '2025-11-25', keys.headersOf('ann'));
      await signInForTickets(client);
      for (const _ of [1, 2]) expect((await client.callTool('bank__look')).last.result).toBeDefined();
      tokens = await oauth.signIn(new Browser(), 'ben', password);
      expect((await omnibus('block', 'tool', 'bank/pay', '--admin', await gateway.admin(gateway.edge))).status).toBe(0);
    }
    for (const process of gateway.processes) await end(process, 'SIGTERM');
    {
      await using backups = await Backups.connect(bus, 'backup', 'backup');
      const snapshots = await backups.backUp();
      await expect(backups.loseAll()).rejects.toThrow();
      await using owner = await Backups.connect(bus, 'outsider', 'outsider');
      await owner.loseAll();
      expect(await backups.streams()).toEqual([]);
      await expect(backups.restore(snapshots)).rejects.toThrow();
      await using restorer = await Backups.connect(bus, 'restore', 'restore');
      await restorer.restore(snapshots);
      expect((await backups.streams()).toSorted()).toEqual(snapshots.map(({ name }) => name).toSorted());
    }
    const config = await writeConfig({
      bus: bus.replace('://', '://session:session@'),
      audit: { sinks: [{ kind: 'jetstream' }] },
    });
    const verified = await omnibus('audit', 'verify', '--bus', 'session', '--config', config);
    expect(verified).toEqual({ status: 0, output: expect.stringContaining('all as they were written') as string });
    await rm(dirname(config), { recursive: true });
    bank.tools = [riskier, tool('look'), tool('pay')];
    await gateway.startPart('backend');
    await gateway.startPart('session');
    front.edges = [await gateway.startEdge()];

    const client = await isAsItWas();
    expect(reasonOf(await client.callTool('bank__pay'))).toBe('call.blocked');
    expect((await client.callTool('bank__look')).last.result).toBeDefined();
    expect(reasonOf(await client.callTool('bank__look'))).toBe('limit.quota');
    using ben = new ModernClient(`${front.url}/mcp`, {}, bearer(tokens));
    expect((await ben.request('tools/list')).last.result).toBeDefined();
    expect((await oauth.refresh(tokens.refresh_token)).status).toBe(200);
    expect(
      (
        await omnibus(
          'block',
          'tool',
          'bank/look',
          '--admin',
          await gateway.admin(gateway.processes.at(-1) as typeof gateway.edge),
        )
      ).status,
    ).toBe(0);
  });

  it('of one process, by copies of its files: keys, pins, vault and audit', async () => {
    const gateway = await start('embedded', {});
    using client = await RawClient.open(gateway.url, '2025-11-25', keys.headersOf('ann'));
    await signInForTickets(client);
    expect((await client.callTool('bank__look')).last.result).toBeDefined();
    await end(gateway.edge, 'SIGTERM');
    const places = [folder, dirname(keys.auth.keys.file), dirname(gateway.configFile)];
    const backup = await mkdtemp(join(tmpdir(), 'omnibus-kept-'));
    stack.defer(() => rm(backup, { recursive: true }));
    for (const [index, place] of places.entries()) {
      await cp(place, join(backup, String(index)), { recursive: true, preserveTimestamps: true });
      await rm(place, { recursive: true });
    }
    for (const [index, place] of places.entries())
      await cp(join(backup, String(index)), place, { recursive: true, preserveTimestamps: true });
    expect(await omnibus('audit', 'verify', join(folder, 'audit'))).toEqual({
      status: 0,
      output: expect.stringContaining('all as they were written') as string,
    });
    bank.tools = [riskier, tool('look'), tool('pay')];
    const restored = stack.use(
      startProcess('node', [
        omnibusProgram,
        'serve',
        '--config',
        gateway.configFile,
        '--listen',
        '127.0.0.1:0',
        '--admin',
        '127.0.0.1:0',
      ]),
    );
    front.edges = [(await restored.line(/"endpoint":"([^"]+)"/))[1] as string];
    await isAsItWas();
    await writeFile(keys.auth.keys.file, '{"keys":[]}');
    await expect
      .poll(
        async () =>
          (await new RawClient(front.edges[0] as string, keys.headersOf('ann')).initialize('2025-11-25')).status,
      )
      .toBe(401);
  });
});
