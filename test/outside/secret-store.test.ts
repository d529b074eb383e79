/** Servers with headers from a secret store: they get them, get changed ones, and are the only ones that miss the store. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeVault } from '@omnibus/bus/testing';
import { saidHere } from '../support/command-here.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { Upstream } from '../support/upstream.ts';

const stack = new AsyncDisposableStack();
/** All values that must not appear anywhere. */
const secrets = ['first', 'second', 'third', 'other', 'late'].map((name) => `${name}-hunter2`);
const [first, second, third, other, late] = secrets as [string, string, string, string, string];
let vault: FakeVault;
let gateway: GatewayHere;
let admin: string;
let one: Upstream;
let two: Upstream;
let plain: Upstream;

const upstreamOf = ({ url }: Upstream, path?: string): object => ({
  url,
  ...(path === undefined ? {} : { headers: { Authorization: `Bearer \${vault:${path}#key}` } }),
});
const configOf = (options: object, more: object = {}): object => ({
  log: { format: 'json', level: 'trace' },
  secrets: {
    vault: {
      address: vault.address,
      appRole: { roleId: vault.role.roleId, secretId: '${APP_SECRET}' },
      patience: '3s',
      ...options,
    },
  },
  mcpServers: { one: upstreamOf(one, 'secret/one'), two: upstreamOf(two, 'kv/two'), plain: upstreamOf(plain), ...more },
});
const check = async (): Promise<string> => {
  const ran = await saidHere(['check', gateway.configFile], { env: { APP_SECRET: vault.role.secretId } });
  return `${ran.status} ${ran.output}`;
};
const status = async (): Promise<string> => (await fetch(`http://${admin}/status`)).text();

beforeAll(async () => {
  vault = stack.use(await FakeVault.start());
  [one, two, plain] = [
    stack.use(await Upstream.start()),
    stack.use(await Upstream.start()),
    stack.use(await Upstream.start()),
  ];
  vault.put('one', { key: first });
  vault.putPlain('two', { key: other });
  gateway = stack.use(
    await startGatewayHere('embedded', configOf({ refresh: '100ms' }), { APP_SECRET: vault.role.secretId }),
  );
  admin = await gateway.admin(gateway.edge);
});
afterAll(() => stack.disposeAsync());

it('a server gets the header, and the new one when the secret has changed; other servers are not touched', async () => {
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => ['one__echo', 'two__echo', 'plain__echo'].every((name) => names.includes(name)));
  expect([...one.authorizations]).toEqual([`Bearer ${first}`]);
  expect([...two.authorizations]).toEqual([`Bearer ${other}`]);
  vault.put('one', { key: second });
  await one.initialized.until(2);
  expect(one.authorizations.has(`Bearer ${second}`)).toBe(true);
  expect([two.initialized.values.length, plain.initialized.values.length]).toEqual([1, 1]);
});

it('while the store is lost, the servers that need it and never had it are down, until it is back', async () => {
  const third = stack.use(await Upstream.start());
  vault.put('late', { key: late });
  vault.isSealed = true;
  await gateway.configure(configOf({ refresh: '100ms' }, { late: upstreamOf(third, 'secret/late') }));
  await gateway.edge.line(/the values that were read before are used/);
  await expect
    .poll(status)
    .toMatch(/headers\.Authorization: the secret store at [^"]* is sealed or under maintenance \(503\): unseal it/);
  using client = await RawClient.open(gateway.url);
  for (const name of ['one__echo', 'two__echo', 'plain__echo'])
    expect((await client.callTool(name)).last.result).toBeDefined();
  expect([one.initialized.values.length, two.initialized.values.length, plain.initialized.values.length]).toEqual([
    2, 1, 1,
  ]);
  expect(third.initialized.values).toEqual([]);
  expect(await check()).toMatch(/^78 .*mcpServers\.one\.headers\.Authorization.*is sealed/s);
  vault.isSealed = false;
  await third.initialized.until(1);
  expect([...third.authorizations]).toEqual([`Bearer ${late}`]);
  expect(await check()).toMatch(/^0 .*is good: 4 servers/s);
});

it('`omnibus reload` reads secrets again', async () => {
  await gateway.configure(configOf({ refresh: 0 }));
  await expect.poll(status).not.toContain('"late"');
  vault.put('one', { key: third });
  expect(
    (await fetch(`http://${admin}/api/v1/reload`, { method: 'POST', headers: { 'x-omnibus-console': '1' } })).status,
  ).toBe(200);
  await one.initialized.until(3);
  expect(one.authorizations.has(`Bearer ${third}`)).toBe(true);
});

it('no secret and no token is in the log, the status, the metrics or the view of the configuration', async () => {
  const shown = await (await fetch(`http://${admin}/api/v1/configuration`)).text();
  expect(shown).toContain('${vault:secret/one#key}');
  const tokens = new Set(vault.asked.values.map(({ token }) => token).filter((token) => token !== undefined));
  expect(tokens.size).toBeGreaterThan(0);
  const everything = [
    gateway.edge.output(),
    await status(),
    shown,
    await (await fetch(`http://${admin}/metrics`)).text(),
    await check(),
  ].join('\n');
  expect([...secrets, ...tokens, vault.role.secretId].filter((each) => everything.includes(each))).toEqual([]);
});

it('the gateway and the commands leave no login at the store', async () => {
  await gateway[Symbol.asyncDispose]();
  expect(vault.asked.values.some(({ path }) => path === 'auth/approle/login')).toBe(true);
  expect([...vault.tokens]).toEqual([]);
});
