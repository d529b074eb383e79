/**
 * Two users with a browser and official clients each sign in at one server behind one gateway, with different accounts. Each gets the data of their own account,
 * whatever either does in a browser. Needs Chromium.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launch } from '../support/chromium.ts';
import { openConsole } from '../console/browser.ts';
import { Balancer } from '../support/balancer.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { noAddress, Person } from '../support/person.ts';
import { manageUsers, writeUsers } from '../support/users.ts';
import { typePassword } from '../support/walker.ts';

const password = 'correct horse battery staple';
const users = ['ann', 'ben'] as const;

describe.runIf(chromiumPath !== undefined).each(shapesOfLane)('%s,', (shape) => {
  const stack = new AsyncDisposableStack();
  let browser: Browser;
  let server: PersonalServer;
  let other: PersonalServer;
  let gateway: GatewayHere;
  let file: string;
  let ann: Person;
  let ben: Person;
  /** The user's name at the server. */
  const accountOf = ({ name }: Person): string => `${name}-there`;

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-browser-'));
    stack.defer(() => rm(folder, { recursive: true }));
    file = join(folder, 'users.yaml');
    await writeUsers(file, password, ...users);
    server = stack.use(await PersonalServer.start({ hasPages: true }));
    other = stack.use(await PersonalServer.start({ hasPages: true }));
    const front = stack.use(await Balancer.start());
    // Of several processes, the gateway stands below a path.
    const publicUrl = shape === 'nats' ? `${front.url}/team` : front.url;
    const restart = { minDelay: '50ms', maxDelay: '200ms' };
    gateway = stack.use(
      await startGatewayHere(shape, {
        publicUrl,
        auth: { server: { users: { file } } },
        vault: { file: join(folder, 'vault.json'), keys: [`a:${Buffer.alloc(32, 7).toString('base64')}`] },
        mcpServers: {
          notes: { url: server.url, restart, credentials: { kind: 'oauth' } },
          other: { url: other.url, restart, credentials: { kind: 'oauth' } },
        },
      }),
    );
    // Each step of a sign-in comes to another edge.
    front.edges = shape === 'nats' ? [gateway.url, await gateway.startEdge()] : [gateway.url];
    browser = await launch();
    stack.defer(() => browser.close());
    [ann, ben] = (await Promise.all(
      users.map(async (name) => stack.use(await Person.open(browser, `${publicUrl}/mcp`, { name, password }))),
    )) as [Person, Person];
  });
  afterAll(() => stack.disposeAsync());

  const textOf = (result: unknown): string =>
    ((result as { readonly content?: readonly { readonly text: string }[] }).content ?? [])[0]?.text ??
    JSON.stringify(result);
  const whose = (client: Person['old'] | Person['modern'], mark: string): Promise<string> =>
    client.callTool({ name: 'notes__whose', arguments: { mark } }).then(textOf);
  const shows = (page: Page, title: string): Promise<void> => page.getByRole('heading', { name: title }).waitFor();
  const toolsOf = async (person: Person): Promise<readonly string[]> =>
    (await person.old.listTools()).tools.map(({ name }) => name).toSorted();

  it('a client of 2026-07-28 has its user open the page in his browser during the call, and the page names the server and its host', async () => {
    const done: string[] = [];
    ann.opens = async (address) => {
      const page = await ann.go(address);
      await shows(page, 'Sign in to notes');
      expect(await page.locator('body').innerText()).toMatch(
        new RegExp(
          `"notes" at ${new URL(server.url).host} for you\\. You are sent to ${new URL(server.origin).host}, where`,
        ),
      );
      // Another user has got hold of the address.
      const stolen = await ben.go(address);
      await shows(stolen, 'This address is for somebody else');
      expect(await stolen.getByRole('button').count()).toBe(0);
      await page.getByRole('button', { name: 'Go on' }).click();
      await ann.choose(page, 'ann-there');
      await shows(page, 'You are signed in');
      done.push(address);
    };
    expect(textOf(await ann.modern.callTool({ name: 'notes__connect', arguments: {} }))).toMatch(
      /^You (are signed in|have opened the address)/,
    );
    expect(done).toHaveLength(1);
    ann.opens = noAddress;
    await expect.poll(() => whose(ann.modern, 'first')).toBe('ann-there first');
    await expect.poll(() => toolsOf(ann)).toEqual(['notes__only_ann-there', 'notes__whose', 'other__connect']);
    expect(await toolsOf(ben)).toEqual(['notes__connect', 'other__connect']);
  });

  it('a client of 2025-11-25 is told the address in an error, and that the sign-in has ended', async () => {
    const page = await ben.signIn(await ben.addressOf('notes__connect'), 'ben-there');
    await shows(page, 'You are signed in');
    await ben.completed.until(1);
    await expect.poll(() => toolsOf(ben)).toEqual(['notes__only_ben-there', 'notes__whose', 'other__connect']);
    expect(await whose(ben.old, 'second')).toBe('ben-there second');
  });

  it('calls, lists, resources, progress and log messages are each of the account of their user', async () => {
    const calls = [ann, ben].flatMap((person) =>
      [person.old, person.modern].flatMap((client) =>
        Array.from({ length: 6 }, async (_, index) => {
          const mark = `${person.name}${client === person.old ? 'old' : 'modern'}${index}`;
          const told: unknown[] = [];
          const onprogress = ({ message }: { readonly message?: string | undefined }): void => void told.push(message);
          const params = { name: 'notes__whose', arguments: { mark } };
          const result = await (client === person.old
            ? person.old.callTool(params, undefined, { onprogress })
            : person.modern.callTool(params, { onprogress }));
          expect([textOf(result), told]).toEqual([
            `${accountOf(person)} ${mark}`,
            [`${accountOf(person)} ${mark} progresses`],
          ]);
        }),
      ),
    );
    await Promise.all(calls);
    for (const person of [ann, ben]) {
      const account = accountOf(person);
      const stranger = accountOf(person === ann ? ben : ann);
      for (const client of [person.old, person.modern]) {
        const { resources } = await client.listResources();
        expect(resources.map(({ name }) => name).toSorted()).toEqual(['mine', `the note of ${account}`]);
        for (const { uri } of resources)
          expect((await client.readResource({ uri })).contents).toEqual([
            expect.objectContaining({ text: `${account} keeps this` }),
          ]);
        const foreign = (resources.find(({ name }) => name !== 'mine')?.uri ?? '').replace(account, stranger);
        await expect(client.readResource({ uri: foreign })).rejects.toThrow();
        await expect(
          client
            .callTool({ name: `notes__only_${stranger}`, arguments: {} })
            .then((result) => (result.isError === true ? Promise.reject(new Error(textOf(result))) : result)),
        ).rejects.toThrow();
      }
      expect(person.told.filter((each) => !each.startsWith(account))).toEqual([]);
    }
    expect([ann, ben].map(({ name, told }) => told.filter((each) => each.includes(`${name}old`)).length)).toEqual([
      6, 6,
    ]);
    expect(server.violations).toEqual([]);
  });

  it('a user who declines, goes back, loads pages again and opens the address in two tabs signs in once in the end', async () => {
    const address = await ben.addressOf('other__connect');
    const [page, second] = [await ben.go(address), await ben.go(address)];
    await page.getByRole('button', { name: 'Go on' }).click();
    await ben.choose(page, 'ben-there', 'Decline');
    await shows(page, 'You are not signed in');
    expect(await page.locator('body').innerText()).toContain('declined');
    await page.reload();
    await shows(page, 'You are not signed in');
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByLabel('Account').waitFor();
    await page.goBack();
    await shows(page, 'Sign in to other');
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByLabel('Account').waitFor();
    await second.getByRole('button', { name: 'Go on' }).click();
    await ben.choose(page, 'ben-there');
    await shows(page, 'You are signed in');
    await page.reload();
    await shows(page, 'You are signed in');
    // The other tab is too late, and takes nothing away.
    await ben.choose(second, 'another');
    await shows(second, 'This did not work');
    for (const { opens } of [{ opens: ben }, { opens: ann }])
      await shows(await opens.go(address), 'This address is over');
    await expect.poll(() => toolsOf(ben)).toContain('other__only_ben-there');
    expect(textOf(await ben.old.callTool({ name: 'other__whose', arguments: {} }))).toBe('ben-there -');
  });

  it('one browser can sign in for two servers at the same time', async () => {
    server.revoke(accountOf(ann));
    const [notes, others] = [
      await ann.go(await ann.addressOf('notes__whose')),
      await ann.go(await ann.addressOf('other__connect')),
    ];
    for (const page of [notes, others]) await page.getByRole('button', { name: 'Go on' }).click();
    for (const page of [notes, others]) {
      await ann.choose(page, 'ann-there');
      await shows(page, 'You are signed in');
    }
    await expect
      .poll(() => toolsOf(ann))
      .toEqual(['notes__only_ann-there', 'notes__whose', 'other__only_ann-there', 'other__whose']);
  });

  it('a browser that is not signed in is sent to sign in to the gateway, and is then known', async () => {
    server.revoke(accountOf(ann));
    const address = await ann.addressOf('notes__whose');
    for (const [name, title] of [
      ['ben', 'This address is for somebody else'],
      ['ann', 'Sign in to notes'],
    ] as const) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(address);
      await typePassword(page, { name, password });
      await shows(page, title);
      expect(page.url()).toBe(address);
      await context.close();
    }
    expect(await whose(ben.modern, 'untouched')).toBe('ben-there untouched');
  });

  it('the console shows what users have connected, and revokes one connection: its user is asked again, and other connections go on', async () => {
    const seen = await openConsole(browser, await gateway.admin(gateway.edge), {}, '#/connections');
    const { page } = seen;
    const row = page.getByRole('row').filter({ hasText: 'ben' }).filter({ hasText: 'notes' });
    await row.getByText('● connected').waitFor();
    await page.getByRole('row').filter({ hasText: 'ann' }).getByText('has to sign in again').waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'ann' }).count()).toBe(2);
    expect(await seen.findings()).toEqual([]);
    const before = server.revoked.length;
    await row.getByRole('button', { name: /Revoke/ }).click();
    await page.getByRole('button', { name: 'Revoke it' }).click();
    await page.getByText('The issuer has taken the tokens back.').waitFor();
    await row.waitFor({ state: 'detached' });
    expect(server.revoked).toHaveLength(before + 1);
    const address = await ben.addressOf('notes__whose');
    for (const person of [ann, ben])
      expect(textOf(await person.old.callTool({ name: 'other__whose', arguments: { mark: 'goes on' } }))).toBe(
        `${accountOf(person)} goes on`,
      );
    await shows(await ben.signIn(address, 'ben-there'), 'You are signed in');
    expect([seen.complaints, seen.strangers]).toEqual([[], []]);
    await seen.close();
  });

  it('what a user has connected is ended with the user, at the issuers too, and the other goes on', async () => {
    const before = [server, other].map(({ revoked }) => revoked.length);
    expect(await manageUsers(file, '', 'remove', 'ben')).toBe(0);
    for (const [index, each] of [server, other].entries())
      await expect.poll(() => each.revoked.length).toBe((before[index] as number) + 1);
    expect(textOf(await ann.modern.callTool({ name: 'other__whose', arguments: {} }))).toBe('ann-there -');
  });

  it('no page has broken a policy of its own, or failed in the browser', () => {
    expect([ann, ben].flatMap(({ complaints }) => complaints)).toEqual([]);
  });
});
