/**
 * A real API server of Kubernetes with its store and without nodes, a so-called test environment. The programs come from KUBEBUILDER_ASSETS or the PATH,
 * otherwise they are built from source, where that is requested and Go is installed.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePorts } from '@omnibus/bus/testing';
import { root } from './processes.ts';

interface Programs {
  readonly apiServer: string;
  readonly etcd: string;
}

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

const kubernetes = { version: 'v1.34.4', staging: 'v0.34.4' };
const cache = join(root, 'node_modules', '.cache', 'kubernetes');
const names = { apiServer: 'kube-apiserver', etcd: 'etcd' } as const;

/**
 * @returns undefined where the programs are missing and cannot be built. They are built only in CI and where OMNIBUS_BUILD_API_SERVER is set, since that
 * takes minutes and gigabytes, which a first run of the tests must not need.
 */
export async function findApiServer(): Promise<Programs | undefined> {
  const folders = [process.env['KUBEBUILDER_ASSETS'], ...(process.env['PATH'] ?? '').split(':'), cache].filter(
    (folder) => folder !== undefined && folder !== '',
  ) as string[];
  const find = (): Programs | undefined => {
    const [apiServer, etcd] = [names.apiServer, names.etcd].map((name) =>
      folders.map((folder) => join(folder, name)).find((file) => existsSync(file)),
    );
    return apiServer === undefined || etcd === undefined ? undefined : { apiServer, etcd };
  };
  const isAsked = process.env['CI'] !== undefined || process.env['OMNIBUS_BUILD_API_SERVER'] !== undefined;
  if (find() === undefined && isAsked && spawnSync('go', ['version']).status === 0) await build();
  return find();
}

/** The source of Kubernetes refers to its own modules by folders; outside of it, they are referred to by version. */
async function build(): Promise<void> {
  console.log('building an API server of Kubernetes from its source: some minutes the first time');
  await mkdir(cache, { recursive: true });
  const go = (...args: string[]): string =>
    spawnSync('go', args, {
      cwd: cache,
      encoding: 'utf8',
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod' },
    }).stdout;
  await writeFile(join(cache, 'go.mod'), 'module test\n');
  const downloaded = go('mod', 'download', '-json', `k8s.io/kubernetes@${kubernetes.version}`);
  const file = /"GoMod": "([^"]+)"/.exec(downloaded)?.[1];
  if (file === undefined) return;
  const source = await readFile(file, 'utf8');
  const parts = [...source.matchAll(/^\t(k8s\.io\/\S+) => \.\/staging/gm)].map(([, part]) => part as string);
  const goVersion = /^go \S+$/m.exec(source)?.[0] ?? '';
  await writeFile(
    join(cache, 'go.mod'),
    `module test\n${goVersion}\nrequire k8s.io/kubernetes ${kubernetes.version}\n${parts.map((part) => `replace ${part} => ${part} ${kubernetes.staging}`).join('\n')}\n`,
  );
  const mains = {
    [names.apiServer]:
      'package main\nimport (\n"os"\n"k8s.io/component-base/cli"\n"k8s.io/kubernetes/cmd/kube-apiserver/app"\n)\nfunc main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }\n',
    [names.etcd]:
      'package main\nimport (\n"os"\n"go.etcd.io/etcd/server/v3/etcdmain"\n)\nfunc main() { etcdmain.Main(os.Args) }\n',
  };
  for (const [name, text] of Object.entries(mains)) {
    await mkdir(join(cache, 'cmd', name), { recursive: true });
    await writeFile(join(cache, 'cmd', name, 'main.go'), text);
    go(
      'build',
      '-ldflags',
      `-s -w -X k8s.io/component-base/version.gitVersion=${kubernetes.version}`,
      '-o',
      join(cache, name),
      `./cmd/${name}`,
    );
  }
}

const adminToken = 'admin-token';
/** The issuer of the tokens of service accounts; where no audience is named, they are for it. */
export const clusterIssuer = 'https://test';

export class ApiServer {
  readonly #programs: Programs;
  readonly #folder: string;
  readonly #ports: readonly [number, number, number];
  #etcd: ChildProcess | undefined;
  #server: ChildProcess | undefined;

  static async start(programs: Programs): Promise<ApiServer> {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-api-server-'));
    const api = new ApiServer(programs, folder, (await freePorts(3)) as [number, number, number]);
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    await writeFile(join(folder, 'sa.pub'), publicKey);
    await writeFile(join(folder, 'sa.key'), privateKey);
    await writeFile(join(folder, 'tokens'), `${adminToken},admin,admin,"system:masters"\n`);
    const [, client, peer] = api.#ports;
    api.#etcd = spawn(
      programs.etcd,
      [
        '--data-dir',
        join(folder, 'etcd'),
        '--unsafe-no-fsync',
        '--listen-client-urls',
        `http://127.0.0.1:${client}`,
        '--advertise-client-urls',
        `http://127.0.0.1:${client}`,
        '--listen-peer-urls',
        `http://127.0.0.1:${peer}`,
        '--initial-advertise-peer-urls',
        `http://127.0.0.1:${peer}`,
        '--initial-cluster',
        `default=http://127.0.0.1:${peer}`,
      ],
      { stdio: 'ignore' },
    );
    await api.resume();
    return api;
  }

  private constructor(programs: Programs, folder: string, ports: readonly [number, number, number]) {
    this.#programs = programs;
    this.#folder = folder;
    this.#ports = ports;
  }

  /** Starts it, or starts it again with its stored data. */
  async resume(): Promise<void> {
    const [port, client] = this.#ports;
    const file = (name: string): string => join(this.#folder, name);
    const server = spawn(
      this.#programs.apiServer,
      [
        '--etcd-servers',
        `http://127.0.0.1:${client}`,
        '--secure-port',
        String(port),
        '--bind-address',
        '127.0.0.1',
        '--cert-dir',
        file('certificates'),
        '--service-cluster-ip-range',
        '10.0.0.0/24',
        '--service-account-issuer',
        clusterIssuer,
        '--service-account-key-file',
        file('sa.pub'),
        '--service-account-signing-key-file',
        file('sa.key'),
        '--authorization-mode',
        'RBAC',
        '--token-auth-file',
        file('tokens'),
        '--disable-admission-plugins',
        'ServiceAccount',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#server = server;
    const said: string[] = [];
    server.stderr?.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    // It prints nothing when it is ready, so this polls it.
    for (let isReady = false; !isReady;) {
      if (server.exitCode !== null) throw new Error(`the API server ended: ${said.join('').slice(-2_000)}`);
      isReady = await this.get('/readyz').then(
        () => true,
        () => false,
      );
    }
  }

  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  }

  #kubeconfig(token: string): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      users: [{ name: 'test', user: { token } }],
      clusters: [{ name: 'test', cluster: { server: this.address, 'insecure-skip-tls-verify': true } }],
    });
  }

  /**
   * Sends a request as an administrator, without a client library that would drop unknown fields.
   * @throws {Error} with the objection of the API server.
   */
  async #ask(
    method: string,
    path: string,
    body?: object,
    options: { readonly type?: string; readonly token?: string } = {},
  ): Promise<object> {
    const { type = 'application/json', token = adminToken } = options;
    const sent = request({
      method,
      host: '127.0.0.1',
      port: this.#ports[0],
      path,
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    const answered = await text(response);
    const answer =
      response.headers['content-type'] === 'application/json'
        ? (JSON.parse(answered) as { readonly message?: string })
        : { message: answered };
    if ((response.statusCode ?? 500) >= 300) throw new Error(answer.message);
    return answer;
  }

  async get<Entry extends object>(path: string): Promise<Entry> {
    return (await this.#ask('GET', path)) as Entry;
  }

  /** Creates an object; with `dryRun` only checks whether it could be created. An unknown field is an error. */
  async create(object: KubernetesObject, dryRun = false): Promise<void> {
    await this.#ask(
      'POST',
      `${await this.pathOf(object, false)}?fieldValidation=Strict${dryRun ? '&dryRun=All' : ''}`,
      object,
    );
  }

  async merge(object: KubernetesObject): Promise<void> {
    await this.#ask('PATCH', await this.pathOf(object, true), object, { type: 'application/merge-patch+json' });
  }

  /** Changes the status of an object. */
  async mergeStatus(object: KubernetesObject & { readonly status: object }): Promise<void> {
    const path = `${await this.pathOf(object, true)}/status`;
    await this.#ask('PATCH', path, object, { type: 'application/merge-patch+json' });
  }

  async delete(object: KubernetesObject): Promise<void> {
    await this.#ask('DELETE', await this.pathOf(object, true));
  }

  async pathOf(
    { apiVersion, kind, metadata: { name, namespace } }: KubernetesObject,
    isNamed: boolean,
  ): Promise<string> {
    const base = `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}`;
    const { resources } = await this.get<{
      readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
    }>(base);
    const resource = resources.find((each) => each.kind === kind && !each.name.includes('/'));
    if (resource === undefined) throw new Error(`${apiVersion} has no ${kind}`);
    return `${base}${resource.namespaced ? `/namespaces/${namespace ?? 'default'}` : ''}/${resource.name}${isNamed ? `/${name}` : ''}`;
  }

  get address(): string {
    return `https://127.0.0.1:${this.#ports[0]}`;
  }

  /** The file with the certificate of the authority that signed its own. */
  get authorityFile(): string {
    return join(this.#folder, 'certificates', 'apiserver.crt');
  }

  /** The certificate of that authority. */
  authority(): Promise<string> {
    return readFile(this.authorityFile, 'utf8');
  }

  /** A token of a service account, for an hour. */
  async tokenOf(namespace: string, serviceAccount: string, audience = clusterIssuer): Promise<string> {
    const asked = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [audience], expirationSeconds: 3_600 },
    };
    const {
      status: { token },
    } = (await this.#ask('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`, asked)) as {
      readonly status: { readonly token: string };
    };
    return token;
  }

  /** A kubeconfig file with the permissions of the service account, and its token. */
  async actAs(
    namespace: string,
    serviceAccount: string,
  ): Promise<{ readonly kubeconfig: string; readonly token: string }> {
    const token = await this.tokenOf(namespace, serviceAccount);
    const kubeconfig = join(this.#folder, `${serviceAccount}.json`);
    await writeFile(kubeconfig, this.#kubeconfig(token));
    return { kubeconfig, token };
  }

  /** A kubeconfig file for programs that install something. */
  async administrator(): Promise<string> {
    const kubeconfig = join(this.#folder, 'administrator.json');
    await writeFile(kubeconfig, this.#kubeconfig(adminToken));
    return kubeconfig;
  }

  /** Whether the holder of a token may do something. */
  async may(
    token: string,
    verb: string,
    resource: string,
    inGroup = '',
    more: { readonly subresource?: string; readonly namespace?: string } = {},
  ): Promise<boolean> {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb, resource, group: inGroup, ...more } },
    };
    const { status } = (await this.#ask('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review, {
      token,
    })) as { readonly status: { readonly allowed: boolean } };
    return status.allowed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    const etcd = this.#etcd;
    if (etcd !== undefined) {
      const exited = once(etcd, 'exit');
      etcd.kill('SIGKILL');
      await exited;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
