/** The authorization server behind HTTP, on a bus in memory, and a browser as far as its pages need one: what tests of its pages share. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { MemoryBus } from '@omnibus/bus';
import { createLogger, Metrics } from '@omnibus/telemetry';
import { deviceGrant } from './device.ts';
import { AuthorizationServer, type AuthorizationServerOptions } from './server.ts';
import { formatUsers, type UserRecord } from './users.ts';

type Settings = Partial<Omit<AuthorizationServerOptions, 'bus' | 'publicUrl' | 'usersFile'>>;

export class AuthorizationUnderTest implements AsyncDisposable {
  readonly bus = new MemoryBus(({ what }) => expect.fail(what));
  /** The address from which all requests come. */
  address = '198.51.100.1';
  readonly url: string;
  readonly #http: Server;
  readonly #folder: string;
  #server: AuthorizationServer | undefined;

  private constructor(http: Server, folder: string) {
    this.#http = http;
    this.#folder = folder;
    this.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  }

  /** @param users of the file of users; undefined: there is none. */
  static async start(settings: Settings = {}, users?: readonly UserRecord[]): Promise<AuthorizationUnderTest> {
    const http = createServer((request, response) =>
      made.server.handles(request.url ?? '')
        ? made.server.handle(request, response, made.address)
        : response.writeHead(404).end('nothing is here'),
    ).listen(0, '127.0.0.1');
    await once(http, 'listening');
    const made = new AuthorizationUnderTest(http, await mkdtemp(join(tmpdir(), 'omnibus-authorization-')));
    await made.open(settings, users);
    return made;
  }

  /** Opens the server, after the one before was closed. */
  async open(settings: Settings = {}, users?: readonly UserRecord[]): Promise<void> {
    if (users !== undefined) await this.write(users);
    this.#server = await AuthorizationServer.open({
      publicUrl: this.url,
      bus: this.bus,
      registration: 'off',
      log: createLogger({ level: 'silent', format: 'json' }),
      metrics: new Metrics({ processMetrics: false }),
      sealingKeys: undefined,
      scopes: ['mcp'],
      moreScopes: [],
      accessTokenMs: 600_000,
      signInMs: 3_600_000,
      refreshGraceMs: 0,
      clients: [],
      clientDocuments: false,
      documentHosts: [],
      usersFile: users === undefined ? undefined : this.#usersFile,
      signIn: undefined,
      serversAt: (resource) => (resource.startsWith(`${this.url}/`) ? ['server'] : undefined),
      ...settings,
    });
  }

  get server(): AuthorizationServer {
    return this.#server ?? expect.fail('the authorization server is not open');
  }

  get #usersFile(): string {
    return join(this.#folder, 'users.yaml');
  }

  /** Replaces the users of the file. */
  write(users: readonly UserRecord[]): Promise<void> {
    return writeFile(this.#usersFile, formatUsers(users));
  }

  /** The answer of an address for programs: a form is posted as one, a text as JSON. */
  async post(
    path: string,
    body: Readonly<Record<string, string>> | URLSearchParams | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Readonly<Record<string, string>>> {
    const answer = await fetch(`${this.url}${path}`, {
      method: 'POST',
      ...(typeof body === 'string'
        ? { headers: { 'content-type': 'application/json', ...headers }, body }
        : { headers, body: new URLSearchParams(body) }),
    });
    return answer.json() as Promise<Readonly<Record<string, string>>>;
  }

  /** Signs a user in with a client, by a device code. @param ask asks for the token with the form. */
  async signIn<Answer>(
    { client, name, password }: { readonly client: string; readonly name: string; readonly password: string },
    ask: (form: Readonly<Record<string, string>>) => Promise<Answer>,
  ): Promise<Answer> {
    const cookies = new Cookies();
    const visit = async (to: string, form?: Readonly<Record<string, string>>): Promise<string> => {
      const response = await cookies.ask(new URL(to, this.url), form);
      const location = response.headers.get('location');
      return location === null ? response.text() : visit(location);
    };
    const submit = (text: string, action: string, fields: Readonly<Record<string, string>> = {}): Promise<string> => {
      const { to, hidden } = formOf(text, action);
      return visit(to, { ...hidden, ...fields });
    };
    const asked = await this.post('/device_authorization', { client_id: client, scope: 'mcp' });
    const typed = await submit(await visit('/device'), '/device', { user_code: String(asked['user_code']) });
    const signedIn = await submit(await submit(typed, '/device'), '/login', { name, password });
    await submit(signedIn, '/consent');
    return ask({ client_id: client, grant_type: deviceGrant, device_code: String(asked['device_code']) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections();
    this.#http.close();
    await this.#server?.close();
    await this.bus.drain();
    await rm(this.#folder, { recursive: true });
  }
}

/** The cookies of a browser: it keeps every cookie for every path. */
export class Cookies {
  readonly #all = new Map<string, string>();

  /** Requests a page, or posts a form, and follows no redirect. */
  async ask(address: URL, form?: Readonly<Record<string, string>>): Promise<Response> {
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { accept: 'text/html', cookie: [...this.#all.values()].join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie())
      this.#all.set(line.split('=', 1)[0] as string, line.split(';', 1)[0] as string);
    return response;
  }
}

/** The address of a form on a page, and its hidden fields. @param action end of its address. */
export function formOf(
  text: string,
  action: string,
): { readonly to: string; readonly hidden: Readonly<Record<string, string>> } {
  const [, to = '', inner = ''] =
    [...text.matchAll(/<form method="post" action="([^"]*)">([\s\S]*?)<\/form>/g)].find((form) =>
      form[1]?.endsWith(action),
    ) ?? expect.fail(`there is no form ${action} in ${text}`);
  const hidden = inner.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return { to, hidden: Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, value])) };
}
