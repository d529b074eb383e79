/** A server that demands tokens, an issuer, and a user of this machine that signs in on request. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { signInAt } from '../support/browse.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { RawClient } from '../support/raw-client.ts';

/** The user of a browser that names none at the issuer. */
const user = 'nobody';
const stack = new AsyncDisposableStack();
let server: PersonalServer;
let gateway: GatewayHere;
let vault: string;
let client: RawClient;

beforeAll(async () => {
  server = stack.use(await PersonalServer.start());
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-vault-'));
  stack.defer(() => rm(folder, { recursive: true }));
  vault = join(folder, 'vault.json');
  gateway = stack.use(
    await startGatewayHere('embedded', {
      log: { format: 'json', level: 'debug' },
      vault: { file: vault },
      mcpServers: {
        wanting: {
          url: server.url,
          restart: { minDelay: '50ms', maxDelay: '100ms' },
          credentials: { kind: 'oauth' },
        },
      },
    }),
  );
  client = stack.use(await RawClient.open(gateway.url));
});
afterAll(() => stack.disposeAsync());

/** The address that a call returns for the sign-in. */
async function addressFor(tool: string): Promise<string> {
  const { last } = await client.callTool(tool);
  expect(last.result?.['isError']).toBe(true);
  return /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(JSON.stringify(last.result))?.[0] ?? '';
}

it('before the user has signed in, a server shows one tool, which names the address of the sign-in', async () => {
  expect(await client.untilTools((names) => names.length > 0)).toEqual(['connect']);
  expect(await addressFor('connect')).not.toBe('');
});

it('a client that calls a tool which it has kept from before is told where to sign in, and then calls it', async () => {
  expect(await addressFor('whose')).not.toBe('');
  expect(server.executed.size).toBe(0);
});

it("the issuer's answer is refused from a browser other than the one that began the sign-in", async () => {
  const address = await addressFor('connect');
  let callback = '';
  // The first browser stops before it is redirected back.
  await signInAt(address, (to) => {
    if (to.includes('/connect/callback')) callback = to;
    return to.includes('/connect/callback') ? `${new URL(to).origin}/connect/nothing` : to;
  });
  const page = await fetch(callback);
  expect(page.status).toBe(400);
  expect(await page.text()).toContain('begun in another browser');
});

it("a user who has signed in can use the server's tools, and the address of the sign-in is invalid", async () => {
  const address = await addressFor('connect');
  expect(await signInAt(address)).toMatchObject({
    status: 200,
    text: expect.stringContaining('You are signed in') as string,
  });
  expect(await client.untilTools((names) => !names.includes('connect'))).toEqual(['whose', `only_${user}`]);
  expect((await client.callTool('whose')).last.result?.['content']).toEqual([{ type: 'text', text: `${user} -` }]);
  expect(server.executed.get('-')).toBe(1);
  expect((await signInAt(address)).status).toBe(404);
});

it('a token that is revoked before it expires is replaced, and the call that was refused with it is executed once', async () => {
  server.expire(user);
  expect((await client.callTool('whose')).last.result?.['content']).toEqual([{ type: 'text', text: `${user} -` }]);
  expect(server.executed.get('-')).toBe(2);
});

it('a user who has revoked all tokens at the server is told where to sign in again, and can then go on', async () => {
  server.revoke(user);
  const address = await addressFor('whose');
  expect((await signInAt(address)).status).toBe(200);
  await expect
    .poll(async () => (await client.callTool('whose')).last.result?.['content'])
    .toEqual([{ type: 'text', text: `${user} -` }]);
  expect(server.executed.get('-')).toBe(3);
});

it('no secret is in logs, status or metrics, or in plain text on the disk', async () => {
  const admin = await gateway.admin(gateway.backend);
  const [status, metrics, disk] = await Promise.all([
    fetch(`http://${admin}/status`).then((said) => said.text()),
    fetch(`http://${admin}/metrics`).then((said) => said.text()),
    readFile(vault, 'utf8'),
  ]);
  const written = [gateway.backend.output(), status, metrics, disk].join('\n');
  expect(server.secrets.length).toBeGreaterThan(6);
  expect(server.secrets.filter((each) => written.includes(each))).toEqual([]);
});
