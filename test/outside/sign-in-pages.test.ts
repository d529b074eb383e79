/** The pages of the authorization server in Chromium: every program gets its answer, wherever it listens and wherever it leads on to, and nothing stands outside a narrow screen. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findingsOf } from '../console/browser.ts';
import { chromiumPath, launch } from '../support/chromium.ts';
import { Balancer } from '../support/balancer.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { OAuthClient } from '../support/sign-in.ts';
import { Upstream } from '../support/upstream.ts';
import { writeUsers } from '../support/users.ts';
import { typePassword } from '../support/walker.ts';

const ann = { name: 'ann', password: 'correct horse battery staple' };

describe.runIf(chromiumPath !== undefined)('in a browser', () => {
  const stack = new AsyncDisposableStack();
  let browser: Browser;
  let issuer: string;

  /** A program of the user's machine. @returns its host and port. */
  const listen = async (host: string, serve: RequestListener): Promise<string> => {
    const server = createServer(serve).listen(0, host);
    await once(server, 'listening');
    stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    return `${host.includes(':') ? `[${host}]` : host}:${(server.address() as AddressInfo).port}`;
  };
  const shown: RequestListener = (request, response) =>
    void response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        `<!doctype html><title>done</title><p id="done">${request.url?.includes('error=') === true ? 'refused' : 'allowed'}</p>`,
      );

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-pages-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const file = join(folder, 'users.yaml');
    await writeUsers(file, ann.password, ann.name);
    const upstream = stack.use(await Upstream.start());
    const front = stack.use(await Balancer.start());
    issuer = front.url;
    const gateway = stack.use(
      await startGatewayHere('embedded', {
        publicUrl: issuer,
        auth: { server: { users: { file } } },
        mcpServers: { [`a_server_with_a_name_${'n'.repeat(43)}`]: { url: upstream.url } },
      }),
    );
    front.edges = [gateway.url];
    browser = await launch();
    stack.defer(() => browser.close());
  });
  afterAll(() => stack.disposeAsync());

  /** Opens a sign-in of a new client in a new browser, and signs in. @param complaints takes the errors of the browser. */
  const open = async (
    redirect: string,
    complaints: string[],
    { client_name = 'A program', width = 1_000 } = {},
  ): Promise<Page> => {
    const client = await OAuthClient.register(issuer, { redirect_uris: [redirect], client_name });
    const context = await browser.newContext({ viewport: { width, height: 700 } });
    const page = await context.newPage();
    page.on(
      'console',
      (message) =>
        void (
          message.type() === 'error' &&
          !/favicon|Failed to load resource/.test(message.text()) &&
          complaints.push(message.text())
        ),
    );
    await page.goto(client.authorizeUrl({ redirect_uri: redirect }));
    return page;
  };

  it.each([
    ['Allow', 'allowed'],
    ['Refuse', 'refused'],
  ])(
    '"%s" reaches a program at any loopback address, and one that leads on to a page elsewhere',
    async (button, outcome) => {
      const last = await listen('127.0.0.1', shown);
      const programs = [
        last,
        await listen('::1', shown),
        await listen(
          '127.0.0.1',
          (request, response) =>
            void response
              .writeHead(302, { location: `http://localhost:${last.split(':')[1] ?? ''}${request.url ?? ''}` })
              .end(),
        ),
      ];
      for (const program of programs) {
        const complaints: string[] = [];
        const page = await open(`http://${program}/callback`, complaints);
        await typePassword(page, ann);
        await page.getByRole('button', { name: button }).click();
        expect(await page.locator('#done').textContent(), program).toBe(outcome);
        expect(complaints, program).toEqual([]);
        await page.context().close();
      }
    },
  );

  it('on a narrow screen each page is as wide as the screen, however long the names are, and axe finds nothing by day and by night', async () => {
    const complaints: string[] = [];
    const page = await open(`http://${await listen('127.0.0.1', shown)}/callback`, complaints, {
      client_name: 'W'.repeat(120),
      width: 320,
    });
    const looksRight = async (words: string): Promise<void> => {
      await page.getByText(words).first().waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth'), words).toBe(320);
      expect(await findingsOf(page), words).toEqual([]);
    };
    await looksRight('To continue with');
    await typePassword(page, { ...ann, password: 'a wrong one' });
    await page.getByRole('alert').waitFor();
    await looksRight('To continue with');
    await typePassword(page, ann);
    await looksRight('It gets access to');
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.locator('#done').waitFor();
    await page.goto(`${issuer}/account`);
    await looksRight('Signed in as');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await looksRight('You are signed out');
    await page.goto(`${issuer}/device`);
    await looksRight('Code that the program shows');
    expect(complaints).toEqual([]);
  });
});
