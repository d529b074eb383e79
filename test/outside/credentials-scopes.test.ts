/** A server that refuses its lists until a user has allowed more: the tool `connect` leads there, in spite of the sign-in. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { RawClient } from '../support/raw-client.ts';

const addressIn = (text: string): string => /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(text)?.[0] ?? '';

/** A gateway of ann alone, or of ann and others, with one server that requires her sign-in. */
async function begin(
  stack: AsyncDisposableStack,
  hasUsers: boolean,
  scopes: Parameters<typeof PersonalServer.start>[0],
  credentials: object = {},
): Promise<{ readonly server: PersonalServer; readonly client: RawClient }> {
  const server = stack.use(await PersonalServer.start(scopes));
  const front = stack.use(await Balancer.start());
  const keys = stack.use(await Keys.make('ann'));
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-scopes-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const gateway = stack.use(
    await startGatewayHere('embedded', {
      ...(hasUsers ? { publicUrl: front.url, auth: keys.auth } : {}),
      vault: { file: join(folder, 'vault.json') },
      mcpServers: {
        personal: {
          url: server.url,
          restart: { minDelay: '50ms', maxDelay: '200ms' },
          credentials: { kind: 'oauth', ...credentials },
        },
      },
    }),
  );
  front.edges = [gateway.url];
  return {
    server,
    client: stack.use(await RawClient.open(gateway.url, '2025-11-25', hasUsers ? keys.headersOf('ann') : {})),
  };
}

describe.each([
  ['of several users', true],
  ['of one user', false],
])('a gateway %s', (_whose, hasUsers) => {
  it('asks for the scope of the lists when the tool connect is called, which the server never hears of', async () => {
    await using stack = new AsyncDisposableStack();
    const { server, client } = await begin(stack, hasUsers, { listScope: 'lists' });
    const said = async (args: Readonly<Record<string, string>> = {}): Promise<string> =>
      JSON.stringify((await client.callTool('connect', args)).last);
    const connect = async (): Promise<string> => {
      const page = await signInAt(addressIn(await said()), server.signsInAs('ann'));
      const code = /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1];
      if (code !== undefined) expect(await said({ code })).toContain('You are signed in');
      return page.text;
    };
    await client.untilTools((names) => names.includes('connect'));
    await connect();
    // The user is signed in, and gets the address to allow the missing scope.
    await expect.poll(async () => addressIn(await said())).not.toBe('');
    expect(await client.toolNames()).toEqual(['connect']);
    await connect();
    expect(await client.untilTools((names) => names.includes('whose'))).toEqual(['whose', 'only_ann']);
    expect([...server.executed.keys()]).toEqual([]);
  });

  it('asks once for a scope that the issuer gives nobody, and says then that the server demands it', async () => {
    await using stack = new AsyncDisposableStack();
    const { server, client } = await begin(stack, hasUsers, { callScope: 'write' }, { beforeSignIn: 'wait' });
    const said = async (name: string, args: Readonly<Record<string, string>> = {}): Promise<string> =>
      JSON.stringify((await client.callTool(name, args)).last);
    const connect = async (address: string): Promise<void> => {
      const page = await signInAt(address, server.signsInAs('ann'));
      const code = /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1];
      if (code !== undefined) await said('connect', { code });
    };
    await client.untilTools((names) => names.includes('connect'));
    await connect(addressIn(await said('connect')));
    await client.untilTools((names) => names.includes('whose'));
    const asked = addressIn(await said('whose'));
    expect(asked).not.toBe('');
    // The question for the code of the page.
    if (hasUsers) await client.untilTools((names) => names.includes('connect') && names.includes('whose'));
    await connect(asked);
    await expect.poll(() => said('whose')).toContain('demands the scope');
    const refused = await said('whose');
    expect([addressIn(refused), refused]).toEqual(['', expect.stringContaining('omnibus connections revoke personal')]);
    expect(await client.untilTools((names) => !names.includes('connect'))).toContain('whose');
  });
});
