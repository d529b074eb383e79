/**
 * No secret leaves where it belongs. Several processes over NATS call servers with every kind of credentials while sign-ins, refreshes, registrations and requests for
 * tokens go well and fail, at servers and issuers that repeat everything they are sent. Then every secret that was ever given, or made, is looked for in
 * everything that the processes have written, sent to each other, stored, and answered.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { operations } from '@omnibus/admin-api';
import { Authority, FakeVault, Outsider } from '@omnibus/bus/testing';
import { StandInIssuer } from '@omnibus/identity/testing';
import { Balancer } from '../support/balancer.ts';
import { signInAt, type Page } from '../support/browse.ts';
import { startCertificateServer } from '../support/certificate-server.ts';
import { startCollector, type Collector } from '../support/collector.ts';
import { findSecrets, type Finding, type Written } from '../support/found.ts';
import { saidHere } from '../support/command-here.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { IdentityProvider } from '../support/identity-provider.ts';
import { Keys } from '../support/keys.ts';
import { ModernClient } from '../support/modern-client.ts';
import { PersonalServer } from '../support/personal-server.ts';
import { sealing } from '../support/processes.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import { bearer, Browser, callback, OAuthClient } from '../support/sign-in.ts';

/** With characters that are written in another way in addresses, forms and JSON. */
const made: string[] = [];
const secret = (kind: string): string => {
  const text = `${kind}/${randomBytes(12).toString('hex')}+=%&${randomBytes(6).toString('hex')}`;
  made.push(text);
  return text;
};
const vaultKey = (): string => {
  const text = randomBytes(32).toString('base64');
  made.push(text);
  return text;
};

/** The lines of a private key, any of which says a part of it. */
const keyMade = (pem: string): string => {
  made.push(...pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----')));
  return pem;
};
/** How a private key begins that is stored as JSON, as those are to which tokens are bound. */
const proofKeyStart = '"crv":"P-256","d":"';

const stack = new AsyncDisposableStack();
let folder: string;
let gateway: GatewayHere;
let collector: Collector;
let outsider: Outsider;
let captured: () => string;
let keys: Keys;
let issuer: StandInIssuer;
let provider: IdentityProvider;
let store: FakeVault;
let front: Balancer;
let servers: Record<
  'signed' | 'modern' | 'team' | 'refused' | 'closed' | 'fixed' | 'bound' | 'keyed' | 'exchanged' | 'enterprise',
  PersonalServer
>;
/** Whether the issuer of the server `exchanged` refuses the tokens of callers, and repeats them. */
let refusesExchange = false;
let callers: Readonly<Record<'ann' | 'ben', Readonly<Record<string, string>>>>;
/** All output to clients, browsers and users of commands. */
const told: Record<string, string> = {};
/** Addresses of sign-ins, and codes: for their caller, and for no records. */
const tickets: string[] = [];

const heard = <Said extends Answer>(name: string, answer: Said): Said => {
  told[name] = `${told[name] ?? ''}\n${answer.body}`;
  return answer;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omnibus-secrets-'));
  stack.defer(() => rm(folder, { recursive: true }));
  const start = async (isModern = false): Promise<PersonalServer> =>
    stack.use(await PersonalServer.start({ isTalkative: true, isModern }));
  provider = stack.use(await IdentityProvider.start());
  const subjectOf = (token: string): string =>
    String(
      (JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { readonly sub?: unknown }).sub,
    );
  const redeem = (form: URLSearchParams): Promise<{ readonly user: string } | { readonly error: string }> =>
    Promise.resolve(
      refusesExchange
        ? { error: 'access_denied' }
        : { user: subjectOf(form.get('subject_token') ?? form.get('assertion') ?? '') },
    );
  servers = {
    signed: await start(),
    modern: await start(true),
    team: await start(),
    refused: await start(),
    closed: await start(),
    fixed: await start(),
    keyed: await start(),
    bound: stack.use(await PersonalServer.start({ isTalkative: true, wantsProof: true })),
    exchanged: stack.use(await PersonalServer.start({ isTalkative: true, redeem })),
    enterprise: stack.use(await PersonalServer.start({ isTalkative: true, redeem })),
  };
  store = stack.use(await FakeVault.start());
  const authority = stack.use(await Authority.create());
  const [certificateServer, certificate] = [
    await startCertificateServer(stack, authority),
    await authority.sign('gateway', [{ type: 'dns', value: 'gateway' }]),
  ];
  keyMade(await readFile(certificate.keyFile, 'utf8'));
  await writeFile(
    join(folder, 'private-key'),
    keyMade(
      String(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' })),
    ),
  );
  await writeFile(join(folder, 'by-reference'), secret('client-secret-in-a-file'));
  servers.refused.isClosed = true;
  servers.closed.isClosed = true;
  collector = stack.use(await startCollector());
  issuer = stack.use(await StandInIssuer.start());
  keys = stack.use(await Keys.make('ann'));
  front = stack.use(await Balancer.start());
  for (const name of ['a', 'b']) await writeFile(join(folder, name), vaultKey());
  const restart = { minDelay: '50ms', maxDelay: '200ms' };
  const fixed = secret('team-key');
  const stored = secret('stored-key');
  for (const each of [fixed, stored]) servers.fixed.admit(each, 'team');
  store.put('stored', { key: stored });
  made.push(store.role.secretId, provider.clientSecret);
  const client = (server: PersonalServer): object => ({
    kind: 'client',
    issuer: server.origin,
    clientId: 'gateway',
    clientSecret: secret('client-secret'),
  });
  gateway = stack.use(
    await startGatewayHere(
      'nats',
      {
        publicUrl: front.url,
        log: { format: 'json', level: 'trace', calls: 'info' },
        console: { mode: 'full', payloads: true },
        auth: {
          ...keys.auth,
          audience: [`${front.url}/mcp`],
          issuers: [{ issuer: issuer.issuer }],
          server: {
            clients: [{ id: 'test', redirectUris: [callback] }],
            signIn: { issuer: provider.issuer, clientId: 'omnibus', clientSecret: provider.clientSecret },
          },
        },
        secrets: {
          vault: { address: store.address, appRole: { roleId: store.role.roleId, secretId: '${APP_SECRET}' } },
        },
        tracing: { endpoint: collector.url, headers: { authorization: `Bearer ${secret('collector')}` } },
        audit: {
          sinks: [{ kind: 'file', folder: join(folder, 'audit') }, { kind: 'jetstream' }],
          record: [{ tool: '*/whose', arguments: { keep: [''] }, results: { keep: [''] } }],
        },
        vault: { keys: ['b', 'a'].map((name) => `${name}:\${file:${join(folder, name)}}`) },
        mcpServers: {
          signed: { url: servers.signed.url, restart, credentials: { kind: 'oauth' } },
          modern: { url: servers.modern.url, restart, credentials: { kind: 'oauth' } },
          closed: { url: servers.closed.url, restart, credentials: { kind: 'oauth' } },
          team: { url: servers.team.url, restart, credentials: client(servers.team) },
          refused: { url: servers.refused.url, restart, credentials: client(servers.refused) },
          fixed: {
            url: `${servers.fixed.url}?api_key=${encodeURIComponent(secret('query'))}`,
            restart,
            headers: { authorization: `Bearer ${fixed}`, 'x-api-key': secret('header') },
          },
          strange: {
            url: servers.fixed.url,
            restart,
            headers: { authorization: `Bearer ${secret('unknown-key')}`, 'x-api-key': secret('header') },
          },
          basic: {
            url: servers.fixed.url.replace('://', `://user:${encodeURIComponent(secret('password'))}@`),
            restart,
          },
          bound: { url: servers.bound.url, restart, credentials: { kind: 'oauth' } },
          keyed: {
            url: servers.keyed.url,
            restart,
            credentials: {
              kind: 'client',
              issuer: servers.keyed.origin,
              clientId: 'gateway',
              privateKey: `\${file:${join(folder, 'private-key')}}`,
            },
          },
          exchanged: {
            url: servers.exchanged.url,
            restart,
            credentials: {
              kind: 'exchange',
              issuer: servers.exchanged.origin,
              from: [issuer.issuer],
              clientId: 'gateway',
              clientSecret: `\${file:${join(folder, 'by-reference')}}`,
            },
          },
          enterprise: {
            url: servers.enterprise.url,
            restart,
            credentials: {
              kind: 'enterprise',
              issuer: servers.enterprise.origin,
              clientId: 'gateway',
              clientSecret: secret('client-secret'),
            },
          },
          stored: { url: servers.fixed.url, restart, headers: { authorization: 'Bearer ${vault:secret/stored#key}' } },
          certified: {
            url: certificateServer,
            restart,
            tls: {
              caFile: authority.caFile,
              cert: `\${file:${certificate.certFile}}`,
              key: `\${file:${certificate.keyFile}}`,
            },
          },
          program: {
            command: process.execPath,
            args: [
              '-e',
              'console.error("began with", JSON.stringify(process.env), process.argv.join(" ")); process.exit(1)',
              '--',
              '--token',
              secret('argument'),
            ],
            env: { PROGRAM_TOKEN: secret('environment') },
            restart,
          },
        },
      },
      { APP_SECRET: store.role.secretId },
    ),
  );
  front.edges = [gateway.url];
  outsider = stack.use(await Outsider.connect(gateway.bus as string));
  captured = outsider.capture();
  await (await gateway.startPart('backend')).line(/"msg":"ready"/);
  const token = await issuer.token({ sub: 'ben', aud: `${front.url}/mcp` });
  callers = { ann: keys.headersOf('ann'), ben: { authorization: `Bearer ${token}` } };
  made.push(
    ...Object.values(callers).map(({ authorization = '' }) => authorization.slice('Bearer '.length)),
    sealing.OMNIBUS_SEALING_KEY,
  );
});
afterAll(() => stack.disposeAsync());

const textOf = ({ last }: Answer): string =>
  (last.result?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? JSON.stringify(last);
const addressIn = (text: string): string => /http:\/\/127\.0\.0\.1:\d+\/connect\/[\w-]{22}/.exec(text)?.[0] ?? '';

async function browse(name: string, address: string, change?: (to: string) => string): Promise<Page> {
  tickets.push(address.slice(-22));
  const page = await signInAt(address, change);
  told[name] = `${told[name] ?? ''}\n${page.text}`;
  return page;
}

async function connect(client: RawClient, server: 'signed' | 'modern' | 'bound', user: string): Promise<void> {
  const tool = `${server}__connect`;
  await client.untilTools((names) => names.includes(tool));
  const page = await browse(
    'pages',
    addressIn(textOf(heard('clients', await client.callTool(tool)))),
    servers[server].signsInAs(user),
  );
  const code = /Your code: ([A-Z0-9-]{9})/.exec(page.text)?.[1] ?? '';
  tickets.push(code);
  expect(textOf(heard('clients', await client.callTool(tool, { code })))).toContain('You are signed in');
}

async function run(...words: readonly string[]): Promise<void> {
  const { output } = await saidHere(words, { env: { APP_SECRET: store.role.secretId } });
  told[`omnibus ${words[0] as string} ${words[1] as string}`] = output;
}

it('sign-ins, refreshes, registrations and requests for tokens go well and fail with every kind of credentials, and a key of the vault is replaced', async () => {
  using ann = await RawClient.open(gateway.url, '2025-11-25', callers.ann);
  using ben = await RawClient.open(gateway.url, '2025-11-25', callers.ben);
  using modern = new ModernClient(gateway.url, {}, callers.ann);
  for (const [client, user] of [
    [ann, 'ann'],
    [ben, 'ben'],
  ] as const) {
    await connect(client, 'signed', user);
    await connect(client, 'modern', user);
    await connect(client, 'bound', user);
  }
  // The results of these calls repeat the headers with which they were made.
  for (const name of [
    'signed__whose',
    'modern__whose',
    'bound__whose',
    'team__whose',
    'fixed__whose',
    'keyed__whose',
    'stored__whose',
    'certified__whose',
  ]) {
    await ann.untilTools((names) => names.includes(name));
    for (const client of [ann, ben])
      expect(textOf(heard('clients', await client.callTool(name, { mark: name })))).toContain(
        name === 'certified__whose' ? 'gateway' : name,
      );
    heard('clients', await modern.call(name, { arguments: { mark: name } }));
  }
  for (const server of Object.values(servers)) for (const user of ['ann', 'gateway']) server.expire(user);
  for (const name of ['signed__whose', 'modern__whose', 'bound__whose', 'team__whose', 'keyed__whose'])
    expect(textOf(heard('clients', await ann.callTool(name, { mark: 'refreshed' })))).toContain('refreshed');
  await run('vault', 'rotate', '--admin', await gateway.admin(gateway.edge));
  expect(textOf(heard('clients', await ann.callTool('signed__whose', { mark: 'rotated' })))).toContain('rotated');
  // From now on the issuer gives no more tokens.
  for (const server of [servers.signed, servers.modern, servers.team, servers.bound, servers.keyed]) {
    server.isClosed = true;
    for (const user of ['ann', 'gateway']) server.expire(user);
  }
  for (const name of ['signed__whose', 'modern__whose', 'bound__whose', 'team__whose', 'keyed__whose']) {
    const refused = textOf(heard('clients', await ann.callTool(name)));
    // The code of the sign-in is refused by the issuer, which repeats it with the verifier.
    if (addressIn(refused) !== '')
      expect((await browse('pages', addressIn(refused), servers.signed.signsInAs('ann'))).status).toBe(400);
  }
  // An issuer without registration.
  await ann.untilTools((names) => names.includes('closed__connect'));
  expect(
    (await browse('pages', addressIn(textOf(heard('clients', await ann.callTool('closed__connect')))))).status,
  ).toBe(502);
  for (const name of ['refused__whose', 'strange__whose', 'basic__whose', 'program__whose']) {
    for (const client of [ann, modern])
      heard('clients', client === ann ? await ann.callTool(name) : await modern.call(name));
  }
  heard(
    'clients',
    await new RawClient(gateway.url, { authorization: 'Bearer omk_no_such_key' }).initialize('2025-11-25'),
  );
});

it('tokens of callers are exchanged, and assertions of an identity provider redeemed, and both are refused', async () => {
  const signedIn = await new OAuthClient(front.url, 'test').signIn(new Browser(), '', '');
  made.push(signedIn.access_token, signedIn.refresh_token);
  using ben = await RawClient.open(gateway.url, '2025-11-25', callers.ben);
  using una = await RawClient.open(gateway.url, '2025-11-25', bearer(signedIn));
  const called = async (client: RawClient, server: 'exchanged' | 'enterprise', mark: string): Promise<string> =>
    textOf(heard('clients', await client.callTool(`${server}__whose`, { mark })));
  for (const [client, server, user] of [
    [ben, 'exchanged', 'ben'],
    [una, 'enterprise', 'una'],
  ] as const) {
    refusesExchange = false;
    await client.untilTools((names) => names.includes(`${server}__whose`));
    expect(await called(client, server, 'made')).toContain(`${user} made`);
    servers[server].expire(user);
    expect(await called(client, server, 'again')).toContain(`${user} again`);
    refusesExchange = true;
    servers[server].expire(user);
    expect(await called(client, server, 'refused')).not.toContain(`${user} refused`);
  }
  expect([
    provider.asked.length > 0,
    store.tokens.size > 0,
    servers.bound.violations,
    [...servers.bound.shown].some((each) => each.startsWith('DPoP ')),
  ]).toEqual([true, true, [], true]);
  made.push(
    ...provider.secrets,
    ...provider.asked.flatMap((form) => form.get('subject_token') ?? []),
    ...store.asked.values.flatMap(({ token }) => token ?? []),
  );
});

/** NATS removes the blocks of a stream whose messages are gone. */
const readIfThere = (path: string): Promise<string> =>
  readFile(path, 'latin1').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });

/** Everything that was written and sent, by where. */
async function everything(): Promise<Written> {
  const written: Record<string, string> = { ...told };
  const admins = await Promise.all(gateway.processes.map((process) => gateway.admin(process)));
  const read = async (address: string): Promise<string> =>
    (await fetch(address, { signal: AbortSignal.timeout(10_000) })).text();
  const named = Object.values(operations)
    .filter(({ method, path }) => method === 'get' && !path.includes('{') && path !== '/watch')
    .map(({ path }) => path);
  const pages = [
    ...named.map((path) => `/api/v1${path}`),
    ...[...Object.keys(servers), 'stored', 'certified', 'strange', 'basic', 'program'].flatMap((name) => [
      `/api/v1/servers/${name}`,
      `/api/v1/servers/${name}/logs`,
    ]),
    '/status',
    '/metrics',
    '/',
  ];
  for (const [index, admin] of admins.entries())
    for (const page of pages) written[`${page} of ${index}`] = await read(`http://${admin}${page}`);
  for (const call of (
    JSON.parse(written['/api/v1/failures of 0'] as string) as {
      readonly failures?: readonly { readonly tag: string }[];
    }
  ).failures?.slice(0, 5) ?? [])
    written[`call ${call.tag}`] = await read(`http://${admins[0] as string}/api/v1/calls/${call.tag}`);
  const admin = ['--admin', admins[2] as string];
  await Promise.all(
    [
      ['status', '--json', ...admin],
      ['doctor', '--json', '--config', gateway.configFile],
      ['check', '--json', '--config', gateway.configFile],
      ['connections', 'list', '--json', ...admin],
      ['logs', 'program', ...admin],
    ].map((words) => run(...words)),
  );
  for (const [index, process] of gateway.processes.entries()) written[`log of ${index}`] = process.output();
  Object.assign(written, told, {
    traces: collector.bodies.join('\n'),
    bus: captured(),
    stored: await outsider.streams(),
  });
  for (const file of await readdir(join(folder, 'audit'), { recursive: true, withFileTypes: true }))
    if (file.isFile()) written[`audit ${file.name}`] = await readFile(join(file.parentPath, file.name), 'latin1');
  for (const file of gateway.busFolder === undefined
    ? []
    : await readdir(gateway.busFolder, { recursive: true, withFileTypes: true }))
    if (file.isFile()) written[`disk ${file.name}`] = await readIfThere(join(file.parentPath, file.name));
  return written;
}

it('no secret is in logs, status, metrics, the API, traces, messages on the bus, stores, audit records, output of commands, pages, or answers to clients', async () => {
  const written = await everything();
  const secrets = [...made, ...Object.values(servers).flatMap((server) => server.secrets)];
  const kinds = new Set(secrets.map((each) => each.split(/[-/]/, 1)[0]));
  expect([...kinds]).toEqual(
    expect.arrayContaining(['access', 'refresh', 'code', 'client', 'team', 'session', 'stored']),
  );
  // The search works: each place has data, and messages of clients are on the bus and in the records.
  for (const [place, text] of Object.entries(written)) if (!place.startsWith('disk')) expect(text, place).not.toBe('');
  for (const place of ['bus', 'stored'])
    expect(findSecrets(['fixed__whose'], { [place]: written[place] as string }), place).not.toEqual([]);
  expect(
    findSecrets([proofKeyStart], {
      key: JSON.stringify(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })),
    }),
  ).not.toEqual([]);
  const found: Finding[] = [...findSecrets([...secrets, proofKeyStart], written)];
  // Addresses of sign-ins and codes are for their caller: on the bus, in the caller's answers, and in the records of results that are configured here.
  const records = Object.fromEntries(
    Object.entries(written).filter(([place]) => !/^(bus|clients|pages|stored|audit .*|disk .*)$/.test(place)),
  );
  found.push(...findSecrets(tickets, records));
  expect(found).toEqual([]);
});
