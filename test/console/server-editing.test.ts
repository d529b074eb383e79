/** Servers are added, changed and removed in the page of a gateway that follows a file, and each change is on record. Without Chromium, by the API alone. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { tool, Upstream } from '../support/upstream.ts';
import { chromiumPath, launch } from '../support/chromium.ts';
import { openConsole } from './browser.ts';

let keys: Keys;
let gateway: GatewayHere;
let upstream: Upstream;
let admin: string;
beforeAll(async () => {
  keys = await Keys.makeOf({ root: [], ops: [], late: [] });
  upstream = await Upstream.start({ tools: [tool('greet')], onCall: () => undefined });
  gateway = await startGatewayHere('embedded', {
    publicUrl: 'http://127.0.0.1:1',
    auth: {
      ...keys.auth,
      admin: { roles: { admin: ['key:root'], operator: ['key:ops'] } },
      server: { agents: { file: 'agents.yaml' } },
    },
    console: { edit: 'addresses' },
    audit: { sinks: [{ kind: 'file', folder: 'audit' }] },
    mcpServers: { old: { url: upstream.url, headers: { 'x-from': 'verysecret' } } },
  });
  admin = await gateway.admin(gateway.edge);
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
  await keys[Symbol.asyncDispose]();
});

const ask = async (
  path: string,
  body?: object,
  subject = 'root',
): Promise<{ readonly status: number; readonly said: Readonly<Record<string, unknown>> }> => {
  const response = await fetch(`http://${admin}/api/v1${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...keys.headersOf(subject), 'x-omnibus-console': '1', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, said: (await response.json()) as Readonly<Record<string, unknown>> };
};
const servers = async (): Promise<Readonly<Record<string, string>>> => {
  const { said } = await ask('/servers');
  return Object.fromEntries(
    (said['servers'] as readonly { readonly name: string; readonly state: string }[]).map(({ name, state }) => [
      name,
      state,
    ]),
  );
};
const entryOf = (url: string): string => `url: ${url}`;

it('an administrator adds and removes a server in the file, which the gateway follows; others may not, and each change is on record', async () => {
  const before = await readFile(gateway.configFile, 'utf8');
  const entry = entryOf(upstream.url);
  const shown = await ask('/servers/new/entry', { entry });
  expect(shown).toMatchObject({ status: 200, said: { isWritten: false, warnings: expect.any(Array) as string[] } });
  expect(await readFile(gateway.configFile, 'utf8')).toBe(before);
  expect((await ask('/servers/new/entry', { entry, digest: 'another' })).said).toMatchObject({ reason: 'conflict' });
  const { digest } = shown.said;
  expect((await ask('/servers/new/entry', { entry, digest }, 'ops')).said).toMatchObject({ reason: 'forbidden' });
  expect((await ask('/servers/new/entry', { entry: 'command: node', digest })).said).toMatchObject({ reason: 'mode' });
  expect((await ask('/servers/old/entry')).said['entry']).toContain('•••');
  expect(await ask('/servers/new/entry', { entry, digest })).toMatchObject({ said: { isWritten: true, problems: [] } });
  await expect.poll(servers).toMatchObject({ old: 'up', new: 'up' });
  const now = (await ask('/servers/new/entry', { entry: null })).said['digest'];
  await writeFile(gateway.configFile, `${await readFile(gateway.configFile, 'utf8')}\n`);
  expect((await ask('/servers/new/entry', { entry: null, digest: now })).said).toMatchObject({ reason: 'conflict' });
  const again = (await ask('/servers/new/entry', { entry: null })).said['digest'];
  expect((await ask('/servers/new/entry', { entry: null, digest: again })).said).toMatchObject({ isWritten: true });
  await expect.poll(servers).toEqual({ old: 'up' });
  expect(JSON.parse(await readFile(gateway.configFile, 'utf8'))).toEqual(JSON.parse(before));
  const records = async (): Promise<readonly string[]> => {
    const folder = join(dirname(gateway.configFile), 'audit');
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.jsonl'));
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
    return texts.flatMap((text) => text.split('\n').filter((line) => line.includes('admin.servers.change')));
  };
  await expect
    .poll(async () => (await records()).filter((line) => line.includes('"omnibus.outcome":"ok"')).length)
    .toBe(2);
  expect((await records()).some((line) => line.includes('"omnibus.outcome":"denied"'))).toBe(true);
});

describe.runIf(chromiumPath !== undefined)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());

  it('an administrator sees whose keys there are and when they were used, and revokes one', async () => {
    const seen = await openConsole(
      browser,
      admin,
      {},
      `#token=${keys.headersOf('root')['authorization']?.replace('Bearer ', '')}`,
    );
    const { page } = seen;
    await ask('/servers', undefined, 'ops');
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'late' });
    await row.getByText('good').waitFor();
    await page.getByRole('row').filter({ hasText: 'ops' }).getByText('ago').first().waitFor();
    expect(await row.getByText('ago').count()).toBe(0);
    expect(await seen.findings()).toEqual([]);
    await row.getByRole('button', { name: /^Revoke the key/ }).click();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await row.getByText('revoked').waitFor();
    await expect.poll(async () => (await ask('/servers', undefined, 'late')).status).toBe(401);
    const { complaints } = seen;
    await seen.close();
    expect(complaints).toEqual([]);
  });

  it('an administrator sees the agents, blocks and unblocks one, and gets another secret for it, once', async () => {
    const wanted = { name: 'deployer', owner: 'ann', groups: ['ci'], endpoints: ['old'], expires: '90d' };
    const { said: made } = await ask('/agents', wanted);
    const seen = await openConsole(
      browser,
      admin,
      {},
      `#token=${keys.headersOf('root')['authorization']?.replace('Bearer ', '')}`,
    );
    const { page } = seen;
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'deployer' });
    await row.getByText('valid').waitFor();
    for (const words of ['ann', 'ci', 'secret', '/mcp/old']) await row.getByText(words, { exact: true }).waitFor();
    for (const width of [1280, 800, 360]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await seen.findings()).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    }
    await row.getByRole('button', { name: 'Block deployer…' }).click();
    await page.getByLabel('Because').fill('incident 17');
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Block it' }).click();
    await row.getByText('incident 17').waitFor();
    await row.getByRole('button', { name: 'Unblock deployer…' }).click();
    await page.getByRole('button', { name: 'Unblock it' }).click();
    await row.getByText('valid').waitFor();
    await row.getByRole('button', { name: 'Rotate the secret of deployer…' }).click();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Make it' }).click();
    const secret = await page
      .getByRole('dialog')
      .getByText(/^oma_secret_/)
      .innerText();
    expect(secret).not.toBe(made['secret']);
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'I have it' }).click();
    expect(await page.getByText(secret).count()).toBe(0);
    await page.getByRole('row').filter({ hasText: 'signs' }).waitFor();
    await page.getByRole('button', { name: 'Rotate the signing key…' }).click();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('signs next').waitFor();
    expect(await seen.findings()).toEqual([]);
    const { complaints } = seen;
    await seen.close();
    expect(complaints).toEqual([]);
  });

  it('the page shows the difference before it writes a server, and takes the server out again', async () => {
    const seen = await openConsole(
      browser,
      admin,
      {},
      `#token=${keys.headersOf('root')['authorization']?.replace('Bearer ', '')}`,
    );
    const { page } = seen;
    await page.getByRole('link', { name: 'Servers', exact: true }).click();
    await page.getByRole('button', { name: 'Add a server…' }).click();
    await page.getByLabel('Name').fill('fresh');
    await page.getByLabel(/^Address, or program/).fill('npx -y something');
    await page.getByText('omnibus add fresh -- npx -y something').waitFor();
    await page.getByLabel(/^Address, or program/).fill(upstream.url);
    await page.getByRole('button', { name: 'Show the change' }).click();
    await page.getByText(/\+.*"fresh"/).waitFor();
    expect(await seen.findings()).toEqual([]);
    await page.getByRole('button', { name: 'Write it' }).click();
    await page.getByText('and the gateway follows it').waitFor();
    await page.getByRole('link', { name: 'fresh', exact: true }).click();
    await page.getByText('Change or remove it').click();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByLabel(/^Options of the server/).fill(`${entryOf(upstream.url)}\ndescription: mine`);
    await page.getByRole('button', { name: 'Show the change' }).click();
    await page.getByRole('button', { name: 'Write it' }).click();
    await expect.poll(async () => readFile(gateway.configFile, 'utf8')).toContain('mine');
    await page.getByRole('button', { name: 'Remove…' }).click();
    await page.getByText(/-.*"fresh"/).waitFor();
    expect(await seen.findings()).toEqual([]);
    expect(seen.complaints).toEqual([]);
    await page.getByRole('button', { name: 'Remove it' }).click();
    await expect.poll(servers).toEqual({ old: 'up' });
    const { complaints, strangers } = seen;
    await seen.close();
    // The page of the server may ask for it once more while the gateway takes it out.
    expect(complaints.filter((complaint) => !complaint.includes('404 (Not Found)'))).toEqual([]);
    expect(strangers).toEqual([]);
  });
});
