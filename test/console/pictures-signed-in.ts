/** Pictures of the console and of the gateway's own pages with sign-in: what a user sees before, during and after, as a viewer and as an administrator. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { changeHeader } from '@omnibus/admin-api';
import { digestOf, formatUsers, leastCost } from '@omnibus/authorization';
import { Balancer } from '../support/balancer.ts';
import { startGateway } from '../support/gateway.ts';
import { Keys } from '../support/keys.ts';
import { fixturePath } from '../support/processes.ts';
import { typePassword, type User } from '../support/walker.ts';
import { openConsole } from './browser.ts';

const [ann, bob, una]: readonly User[] = ['ann', 'bob', 'una'].map((name) => ({
  name,
  password: `${name}: correct horse battery staple`,
}));

/** Views that differ for users, or that have much in them only where users sign in. */
const views = [
  'overview',
  'servers/shop',
  'try/shop__order',
  'connections',
  'policy',
  'keys',
  'agents',
  'sessions',
  'audit',
];

type Shoot = (page: Page, name: string) => Promise<void>;

/** @param shoot takes the pictures of what a page shows, under a name. */
export async function takeSignedIn(browser: Browser, shoot: Shoot): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const address = await startWithUsers(stack);
  const open = async (): Promise<Page> => {
    const seen = await openConsole(browser, address);
    stack.defer(() => seen.close());
    await seen.page.getByRole('heading', { name: 'Who is asking?' }).waitFor();
    return seen.page;
  };
  const viewer = await open();
  await takePages(viewer, shoot);
  const admin = await open();
  await signIn(admin, bob as User);
  for (const [role, page] of Object.entries({ viewer, admin })) {
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    for (const view of views) {
      await page.goto(`http://${address}/#/${view}`);
      await page.locator('main h1').waitFor();
      await page
        .locator('main .waiting')
        .first()
        .waitFor({ state: 'detached', timeout: 5_000 })
        .catch(() => undefined);
      await shoot(page, `${role}-${view.replaceAll(/[^a-z_]+/g, '-')}`);
    }
  }
  const refused = await open();
  await signIn(refused, una as User);
  await refused.getByText('has no role here').first().waitFor();
  await shoot(refused, 'no-role');
}

async function signIn(page: Page, user: User): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click();
  await typePassword(page, user);
  await page.getByRole('button', { name: 'Allow' }).click();
}

/** The question of the console, and the pages of the authorization server, up to the signed-in viewer. */
async function takePages(page: Page, shoot: Shoot): Promise<void> {
  await shoot(page, 'asks');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByLabel('Password').waitFor();
  await shoot(page, 'password');
  await typePassword(page, { name: 'ann', password: 'wrong' });
  await page.getByRole('alert').waitFor();
  await shoot(page, 'wrong-password');
  await typePassword(page, ann as User);
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  await shoot(page, 'consent');
  await page.getByRole('button', { name: 'Allow' }).click();
}

/** A gateway with users, keys and agents. @returns the address of its admin port. */
async function startWithUsers(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-pictures-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const users = [ann, bob, una].map(async (user) => ({
    name: user?.name ?? '',
    password: await digestOf(user?.password ?? '', leastCost),
    groups: [user === ann ? 'people' : user === bob ? 'owners' : 'others'],
  }));
  await writeFile(join(folder, 'users.yaml'), formatUsers(await Promise.all(users)));
  const front = stack.use(await Balancer.start());
  const keys = stack.use(await Keys.make('root', 'nightly', 'dashboard'));
  const gateway = stack.use(
    await startGateway('embedded', {
      publicUrl: front.url,
      mcpServers: { shop: { command: 'node', args: [fixturePath('shop-server')] } },
      auth: {
        scopes: ['mcp'],
        ...keys.auth,
        server: { users: { file: join(folder, 'users.yaml') }, agents: { file: join(folder, 'agents.yaml') } },
        admin: { roles: { viewer: ['group:people'], admin: ['group:owners', 'key:root'] } },
      },
    }),
  );
  front.edges = [gateway.url];
  const address = await gateway.admin(gateway.edge);

  for (const agent of ['deployer', 'reader'])
    await fetch(`http://${address}/api/v1/agents`, {
      method: 'POST',
      headers: { ...keys.headersOf('root'), [changeHeader]: '1', 'content-type': 'application/json' },
      body: JSON.stringify({ name: agent, owner: 'bob', groups: ['readers'] }),
    });
  return address;
}
