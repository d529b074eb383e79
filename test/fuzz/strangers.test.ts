/**
 * Browsers and OAuth clients that send invalid requests of any kind to the authorization server and the pages of the gateway. Each iteration is determined
 * by the seed, its own number and what earlier answers gave: `OMNIBUS_FUZZ_SEED=S` repeats a run.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request as send, type IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Balancer } from '../support/balancer.ts';
import { shapes, startGateway } from '../support/gateway.ts';
import { measured } from '../support/metrics.ts';
import { Browser, callback, OAuthClient } from '../support/sign-in.ts';
import { Upstream } from '../support/upstream.ts';
import { manageUsers } from '../support/users.ts';
import { Chooser, mangled, mutated } from './mutate.ts';
import { expectSound, Failures, goesOn, hangMs, memoryOf, seed, testMs } from './run.ts';
import { challenge, Gathered, verifier, webRequest, type WebRequest } from './sign-in-requests.ts';
import { mutatedHeaders } from './traffic.ts';

const password = 'correct horse battery staple';
/** Is put into parameters, and must not come back in a page as it is. */
const tag = '<x-fuzz a="\'">';
const lanes = 16;
/** Iterations of a lane between two sign-ins: one address may begin a sign-in every second. */
const signInEvery = 200;
/** Where clients have their redirect addresses. */
const known = new Set([new URL(callback).origin, 'com.example.app:', 'https://app.example']);

interface Prepared {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Parameters as text: a list is a repeated parameter, and other values are JSON. */
function parametersOf(values: unknown): string {
  if (typeof values !== 'object' || values === null) return String(values);
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    (Array.isArray(value) ? value.slice(0, 50) : [value]).map(
      (each: unknown) => [name, typeof each === 'string' ? each : JSON.stringify(each)] as [string, string],
    ),
  );
  return new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name.toWellFormed(), value.toWellFormed()]),
  ).toString();
}

function prepare(issuer: string, gathered: Gathered, iteration: number): Prepared {
  const choose = new Chooser(seed, iteration);
  const {
    method,
    path,
    query,
    form,
    json,
    headers = {},
  }: WebRequest = webRequest(issuer, { one: (kind) => gathered.one(kind, choose) }, choose);
  const changed = (value: object): unknown => {
    if (choose.chance(0.4)) return value;
    const tagged = choose.chance(0.3) ? { ...value, [choose.of(Object.keys(value).concat('extra'))]: tag } : value;
    return choose.chance(0.3) ? tagged : JSON.parse(mutated(tagged, choose));
  };
  const asked = query === undefined ? '' : `?${parametersOf(changed(query))}`;
  const text =
    form === undefined
      ? json === undefined
        ? undefined
        : JSON.stringify(changed(json as object))
      : parametersOf(changed(form));
  const given = {
    ...headers,
    ...(form === undefined
      ? json === undefined
        ? {}
        : { 'content-type': 'application/json' }
      : { 'content-type': 'application/x-www-form-urlencoded' }),
  };
  // Each comes from another address, so that the bounds on one address do not end the run.
  const from = { 'x-forwarded-for': `10.${choose.below(200)}.${choose.below(200)}.${choose.below(200)}` };
  const place = choose.chance(0.9)
    ? path
    : choose.of([
        `${path}/`,
        `/${path}`,
        path.toUpperCase(),
        `${path}%00`,
        `${path}/..%2f`,
        `${path};x=1`,
        `/${encodeURIComponent(path)}`,
        `${path}//x`,
        '//',
        '/%',
        '/\\evil.example',
        '//evil.example/authorize',
        `${path}/${'a'.repeat(3_000)}`,
      ]);
  return {
    method: choose.chance(0.95) ? method : choose.of(['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'TRACE']),
    path: `${place}${asked}`.replaceAll(/[^\u0021-\u007E]/g, encodeURIComponent),
    headers: { ...(choose.chance(0.85) ? given : mutatedHeaders(given, choose)), ...from },
    body:
      text === undefined ? undefined : choose.chance(0.1) ? mangled(text, choose) : Buffer.from(text.toWellFormed()),
  };
}

/** The request that was sent last over a connection. When a connection ends under a request, it is the one before that is to blame. */
const lastOver = new WeakMap<Socket, Prepared>();
/** Bytes of a form after which its sender is cut off, at once or while the next request is on its way. */
const cutBytes = 1_048_576;

function ask(base: string, agent: Agent, prepared: Prepared): Promise<Answered | string> {
  const { method, path, headers, body } = prepared;
  const { hostname, port } = new URL(base);
  return new Promise((resolve) => {
    const limit = setTimeout(() => {
      resolve('there was no answer');
      request.destroy();
    }, hangMs);
    const end = (answer: Answered | string): void => {
      clearTimeout(limit);
      resolve(answer);
    };
    const request = send(
      {
        hostname,
        port,
        path,
        method,
        agent,
        headers: { accept: 'text/html', ...headers, ...(body === undefined ? {} : { 'content-length': body.length }) },
      },
      (response) => {
        const chunks: Buffer[] = [];
        const answered = (): Answered => ({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => end(answered()));
        response.on('error', () => end('the answer broke off'));
        // A stream would go on without end.
        if (response.headers['content-type'] === 'text/event-stream') {
          end(answered());
          request.destroy();
        }
      },
    );
    let before: Prepared | undefined;
    request.on('socket', (socket) => {
      before = lastOver.get(socket);
      lastOver.set(socket, prepared);
    });
    request.on('error', (error) => {
      // A server that cannot read the head of a request does not know its method either, and the answer has a body.
      const isUnread = method === 'HEAD' && (error as NodeJS.ErrnoException).code?.startsWith('HPE_') === true;
      if (isUnread || [body, before?.body].some((sent) => sent !== undefined && sent.length > cutBytes))
        end({ status: 400, headers: {}, text: '' });
      else
        end(
          `the request failed: ${error.message}${before === undefined ? '' : `, after ${before.method} ${before.path} with ${JSON.stringify(before.headers)}`}`,
        );
    });
    request.end(body);
  });
}

/** The problem of an answer; undefined if there is none. */
function problemOf({ status, headers, text }: Answered, issuer: string): string | undefined {
  const { location } = headers;
  if (status >= 500 && status !== 501) return `${status}: ${text.slice(0, 500)}`;
  if (text.includes(password)) return `it tells the password: ${text.slice(0, 500)}`;
  if (/\n\s+at \S+ \(|node:internal|node_modules/.test(text))
    return `it tells where the program failed: ${text.slice(0, 500)}`;
  const isPage = headers['content-type']?.startsWith('text/html') === true;
  if (isPage && text.includes('<x-fuzz')) return `the page has a tag of the request: ${text.slice(0, 2_000)}`;
  // Browsers show no page of a redirection.
  if (
    isPage &&
    location === undefined &&
    !/frame-ancestors 'none'/.test(String(headers['content-security-policy'])) &&
    text !== ''
  )
    return `the page can be framed: ${JSON.stringify(headers)}`;
  const target = location === undefined ? undefined : new URL(location, issuer);
  if (
    target !== undefined &&
    !known.has(target.origin === 'null' ? target.protocol : target.origin) &&
    target.origin !== issuer
  )
    return `it sends the browser to ${location}`;
  return undefined;
}

function gather(gathered: Gathered, { headers, text }: Answered): void {
  gathered.add('cookie', headers['set-cookie']?.map((line) => line.split(';', 1)[0]).join('; '));
  const location = headers.location ?? '';
  gathered.add('interaction', /\/(?:interaction|authorize)\/([\w-]+)/.exec(location)?.[1]);
  gathered.add('xsrf', /name="xsrf" value="([^"]*)"/.exec(text)?.[1]);
  if (headers['content-type']?.startsWith('application/json') !== true || text === '') return;
  const said: unknown = JSON.parse(text);
  if (typeof said === 'object' && said !== null)
    for (const kind of ['client_id', 'device_code', 'user_code', 'access_token', 'refresh_token'])
      gathered.add(kind, (said as Record<string, unknown>)[kind]);
}

it.each(shapes)(
  'mutated requests to the authorization server get an answer of its protocol, tell nothing, and users go on signing in: %s',
  { timeout: testMs },
  async (shape) => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-fuzz-'));
    const usersFile = join(folder, 'users.yaml');
    expect(await manageUsers(usersFile, password, 'add', 'ann')).toBe(0);
    await using upstream = await Upstream.start();
    await using front = await Balancer.start();
    const issuer = front.url;
    await using gateway = await startGateway(
      shape,
      {
        publicUrl: issuer,
        security: { trustedProxies: ['127.0.0.1'] },
        auth: { server: { users: { file: usersFile }, clients: [{ id: 'listed', redirectUris: [callback] }] } },
        mcpServers: { innocent: { url: upstream.url } },
      },
      measured,
    );
    front.edges = [gateway.url];
    const agent = new Agent({ keepAlive: true });
    const gathered = new Gathered();
    /** Lets a user sign in correctly, twice, and leaves the second code to others. */
    const signIn = async (): Promise<void> => {
      const client = new OAuthClient(issuer, 'listed');
      const codeOf = async (): Promise<string> =>
        (await client.allow(new Browser(), 'ann', password, { code_challenge: challenge })).searchParams.get('code') ??
        '';
      const { status, body } = await client.redeem(await codeOf(), { code_verifier: verifier });
      expect(status, JSON.stringify(body)).toBe(200);
      gathered.add('client_id', client.id);
      for (const kind of ['access_token', 'refresh_token']) gathered.add(kind, body[kind]);
      gathered.add('code', await codeOf());
    };
    await signIn();
    const before = await memoryOf(gateway);
    const failures = new Failures(`strangers-${shape}`);
    const isOn = goesOn(failures);
    const statuses = new Map<number, number>();
    let signIns = 1;
    const lane = async (first: number): Promise<void> => {
      for (let iteration = first; isOn(iteration); iteration += lanes) {
        if (first === 0 && (iteration / lanes) % signInEvery === signInEvery - 1) {
          await signIn();
          signIns += 1;
        }
        const prepared = prepare(issuer, gathered, iteration);
        const answer = await ask(gateway.url, agent, prepared);
        const problem = typeof answer === 'string' ? answer : problemOf(answer, issuer);
        if (problem !== undefined)
          failures.add({
            iteration,
            carrier: 'web',
            problem,
            input: `${prepared.method} ${prepared.path}\n${JSON.stringify(prepared.headers)}\n\n${String(prepared.body)}`,
          });
        if (typeof answer === 'string') continue;
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        gather(gathered, answer);
      }
    };
    await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
    process.stdout.write(
      `\nfuzz strangers, ${shape}, seed ${seed}: ${signIns} sign-ins, ${failures.list.length} failures\nanswers: ${[
        ...statuses,
      ]
        .toSorted(([, a], [, b]) => b - a)
        .map((each) => each.join(' x '))
        .join(', ')}\n`,
    );
    agent.destroy();
    expect(failures.list.join('\n\n')).toBe('');
    await signIn();
    await expectSound(gateway, before);
    await rm(folder, { recursive: true });
  },
);
