/** A secret store for tests that speaks the HTTP API of Vault on a real socket: key-value engines of both versions, AppRole, Kubernetes, and the life of tokens. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from './authority.ts';
import { Heard } from './heard.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Version {
  readonly fields: Fields;
  state: 'live' | 'deleted' | 'destroyed';
}

interface Asked {
  readonly path: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly status: number;
}

export class FakeVault {
  readonly asked = new Heard<Asked>();
  /** Tokens that are good, with the seconds that they live; 0: without end. */
  readonly tokens = new Map<string, number>();
  /** Paths that no policy allows. */
  readonly forbidden = new Set<string>();
  /** Paths that are answered 500. */
  readonly broken = new Set<string>();
  /** Statuses of the next answers, before any other. */
  readonly failing: number[] = [];
  /** Whether requests that nothing of the above answers are left without an answer. */
  isSilent = false;
  /** Awaited before a path is answered. */
  before: (path: string) => Promise<void> | undefined = () => undefined;
  isSealed = false;
  /** Seconds that tokens of logins live. */
  lifeSeconds = 3_600;
  readonly role = { roleId: randomUUID(), secretId: randomUUID() };
  readonly serviceAccount = { role: 'omnibus', jwt: `jwt-${randomUUID()}` };
  readonly #versions = new Map<string, Version[]>();
  readonly #plain = new Map<string, Fields>();
  readonly #certificate: Certificate | undefined;
  #server: Server | undefined;
  #port = 0;

  private constructor(certificate: Certificate | undefined) {
    this.#certificate = certificate;
  }

  /** @param certificate with which it speaks TLS. */
  static async start(certificate?: Certificate): Promise<FakeVault> {
    const vault = new FakeVault(certificate);
    await vault.listen();
    return vault;
  }

  get address(): string {
    return `${this.#certificate === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  /** Listens at the same port as before. */
  async listen(): Promise<void> {
    const handle = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);
    this.#server =
      this.#certificate === undefined
        ? createServer(handle)
        : createSecureServer(
            { cert: await readFile(this.#certificate.certFile), key: await readFile(this.#certificate.keyFile) },
            handle,
          );
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.closeAllConnections();
    await server[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** A new token. @param seconds that it lives; 0: without end, and not renewable. */
  newToken(seconds = 0): string {
    const token = `hvs.${randomUUID()}`;
    this.tokens.set(token, seconds);
    return token;
  }

  /** Writes a new version of a secret, below the mount `secret/` (KV v2). */
  put(path: string, fields: Fields): void {
    this.#versions.set(path, [...(this.#versions.get(path) ?? []), { fields, state: 'live' }]);
  }

  /** Writes a secret below the mount `kv/` (KV v1). */
  putPlain(path: string, fields: Fields): void {
    this.#plain.set(path, fields);
  }

  /** Marks the newest version. */
  mark(path: string, state: Version['state']): void {
    const newest = this.#versions.get(path)?.at(-1);
    if (newest !== undefined) newest.state = state;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', this.address);
    const path = decodeURIComponent(url.pathname.replace(/^\/v1\//, ''));
    const header = (name: string): string | undefined =>
      typeof request.headers[name] === 'string' ? request.headers[name] : undefined;
    const token = header('x-vault-token');
    const body = chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString()) as Fields);
    await this.before(path);
    if (this.isSilent && this.failing.length === 0) return;
    const [status, answer] = this.#answer(path, { token, body, version: url.searchParams.get('version') });
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(answer === undefined ? '' : JSON.stringify(answer));
    this.asked.add({ path, token, namespace: header('x-vault-namespace'), status });
  }

  #answer(
    path: string,
    {
      token,
      body,
      version,
    }: { readonly token: string | undefined; readonly body: Fields; readonly version: string | null },
  ): readonly [number, object?] {
    const failure = this.failing.shift();
    if (failure !== undefined) return [failure, { errors: [] }];
    if (this.isSealed) return [503, { errors: ['Vault is sealed'] }];
    const denied = [403, { errors: ['permission denied'] }] as const;
    if (path === 'auth/approle/login')
      return body['role_id'] === this.role.roleId && body['secret_id'] === this.role.secretId
        ? this.#loggedIn()
        : [400, { errors: ['invalid role or secret ID'] }];
    if (path === 'auth/kubernetes/login')
      return body['role'] === this.serviceAccount.role && body['jwt'] === this.serviceAccount.jwt
        ? this.#loggedIn()
        : denied;
    const life = token === undefined ? undefined : this.tokens.get(token);
    if (token === undefined || life === undefined) return denied;
    if (path === 'auth/token/lookup-self') return [200, { data: { ttl: life, renewable: life > 0 } }];
    if (path === 'auth/token/renew-self')
      return [200, { auth: { client_token: token, lease_duration: life, renewable: true } }];
    if (path === 'auth/token/revoke-self') {
      this.tokens.delete(token);
      return [204];
    }
    if (this.forbidden.has(path)) return denied;
    if (this.broken.has(path)) return [500, { errors: [] }];
    if (path.startsWith('sys/internal/ui/mounts/')) {
      const [mount = ''] = path.slice('sys/internal/ui/mounts/'.length).split('/');
      const type = { secret: 'kv', kv: 'kv', database: 'database' }[mount];
      return type === undefined
        ? denied
        : [200, { data: { path: `${mount}/`, type, options: mount === 'secret' ? { version: '2' } : null } }];
    }
    if (path.startsWith('secret/data/')) return this.#versioned(path.slice('secret/data/'.length), version);
    const fields = path.startsWith('kv/') ? this.#plain.get(path.slice('kv/'.length)) : undefined;
    return fields === undefined
      ? [404, { errors: [] }]
      : [200, { data: fields, lease_id: '', lease_duration: 2_764_800 }];
  }

  #loggedIn(): readonly [number, object] {
    return [
      200,
      { auth: { client_token: this.newToken(this.lifeSeconds), lease_duration: this.lifeSeconds, renewable: true } },
    ];
  }

  #versioned(path: string, wanted: string | null): readonly [number, object] {
    const versions = this.#versions.get(path) ?? [];
    const number = wanted === null ? versions.length : Number(wanted);
    const found = versions[number - 1];
    if (found === undefined) return [404, { errors: [] }];
    const metadata = {
      version: number,
      destroyed: found.state === 'destroyed',
      deletion_time: found.state === 'deleted' ? '2026-11-01T00:00:00Z' : '',
    };
    return found.state === 'live'
      ? [200, { data: { data: found.fields, metadata } }]
      : [404, { data: { data: null, metadata } }];
  }
}
