import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import type { Problem } from '@omnibus/admin-api';
import { configOf } from '@omnibus/config/testing';
import { Metrics, type AdminAct, type AdminAnswer } from '@omnibus/telemetry';
import type { AdminAccess } from '../access.ts';
import { mayDo, type AdminRole } from '../roles.ts';
import { apiSite, rightsOf, type Handlers } from './site.ts';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

interface Heard {
  readonly status: number;
  readonly said: Problem;
  readonly challenge: string | null;
  readonly allow: string | null;
}

/** An API with empty answers, for a caller with these roles. */
async function open(
  options: object,
  roles: readonly AdminRole[],
  metrics = new Metrics({ processMetrics: false }),
): Promise<(path: string, method?: string, key?: string, body?: string) => Promise<Heard>> {
  const guard = (_request: unknown, _path: string, act: AdminAct): Promise<AdminAnswer | undefined> =>
    Promise.resolve(
      mayDo(act, roles)
        ? undefined
        : { status: roles.length === 0 ? 401 : 403, text: 'not you\n', headers: { 'www-authenticate': 'Bearer' } },
    );
  let restarts = 0;
  const handlers = new Proxy(
    {},
    {
      get: (_none, name) => () =>
        name === 'overview'
          ? Promise.reject(new Error('a bug'))
          : Promise.resolve({ acts: name === 'restart' ? (restarts += 1) : 0 }),
    },
  ) as Handlers;
  const faults: string[] = [];
  const site = apiSite({
    config: () => configOf(options),
    access: { guard, of: () => ({ name: 'ann' }) } as unknown as AdminAccess,
    metrics,
    handlers,
    onFault: (what) => void faults.push(what),
  });
  server = createServer(
    (request, response) => void site.serve(request, response, (request.url ?? '').split('?')[0] as string),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return async (path, method = 'GET', key, body) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: {
        'x-omnibus-console': '1',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    return {
      status: response.status,
      said: (await response.json()) as Problem,
      challenge: response.headers.get('www-authenticate'),
      allow: response.headers.get('allow'),
    };
  };
}

it.each(['off', 'read'])(
  'with `console: %s` all is answered, and servers and sessions are not acted on',
  async (mode) => {
    const ask = await open({ console: mode }, ['operator']);
    expect((await ask('/processes')).status).toBe(200);
    for (const [path, method] of [
      ['/servers/a/restart', 'POST'],
      ['/servers/a/pause', 'POST'],
      ['/servers/a/resume', 'POST'],
      ['/sessions/abcdefabcdef', 'DELETE'],
    ] as const)
      expect(await ask(path, method)).toMatchObject({
        status: 403,
        said: { reason: 'mode', advice: expect.any(String) as string },
      });
    expect((await ask('/definitions/a', 'POST', undefined, '{"approve":["x"]}')).said.reason).not.toBe('mode');
  },
);

it('a viewer looks at state, an operator watches calls and acts, and whoever is unknown is asked who it is', async () => {
  const viewer = await open({}, ['viewer']);
  expect((await viewer('/servers')).status).toBe(200);
  for (const [path, method] of [
    ['/calls', 'GET'],
    ['/failures', 'GET'],
    ['/servers/a/restart', 'POST'],
    ['/sessions/abcdefabcdef', 'DELETE'],
  ] as const)
    expect(await viewer(path, method)).toMatchObject({
      status: 403,
      said: { reason: 'forbidden', problem: 'not you' },
    });
  server?.close();
  const operator = await open({}, ['operator']);
  for (const [path, method] of [
    ['/calls', 'GET'],
    ['/failures', 'GET'],
    ['/servers/a/restart', 'POST'],
    ['/sessions/abcdefabcdef', 'DELETE'],
  ] as const)
    expect((await operator(path, method)).status).toBe(200);
  server?.close();
  const nobody = await open({}, []);
  expect(await nobody('/servers')).toMatchObject({
    status: 401,
    said: { reason: 'unauthenticated' },
    challenge: 'Bearer',
  });
});

it('an act that is asked for again with its key is answered as before, and not done or counted again', async () => {
  const metrics = new Metrics({ processMetrics: false });
  const operator = await open({}, ['operator'], metrics);
  const restart = (path: string, key?: string): ReturnType<typeof operator> =>
    operator(`/servers/${path}/restart`, 'POST', key);
  expect([await restart('a', 'k'), await restart('a', 'k'), await restart('a'), await restart('a', 'l')]).toMatchObject(
    [{ said: { acts: 1 } }, { said: { acts: 1 } }, { said: { acts: 2 } }, { said: { acts: 3 } }],
  );
  expect(await restart('b', 'k')).toMatchObject({ status: 422, said: { reason: 'reused' } });
  expect(await restart('a', ' '.repeat(3))).toMatchObject({ status: 400, said: { reason: 'invalid' } });
  expect((await operator('/servers')).status).toBe(200);
  expect((await metrics.text()).match(/omnibus_admin_acts_total\{.*\} [1-9]\d*/g)).toEqual([
    'omnibus_admin_acts_total{act="restart"} 3',
  ]);
});

it('a key stands for the query and the body too: with others it is refused, and not answered as if it were the first', async () => {
  const operator = await open({}, ['operator']);
  const pause = (more: string, body: string): ReturnType<typeof operator> =>
    operator(`/servers/a/pause${more}`, 'POST', 'k', body);
  expect([await pause('', '{"a":1}'), await pause('', '{"a":1}')]).toMatchObject([{ status: 200 }, { status: 200 }]);
  expect(await pause('', '{"a":2}')).toMatchObject({
    status: 422,
    said: { reason: 'reused', advice: 'take a new key for each act' },
  });
  expect(await pause('?because=x', '{"a":1}')).toMatchObject({ status: 422, said: { reason: 'reused' } });
  expect(await operator('/servers/a/restart', 'POST', 'l', ' '.repeat(20_000))).toMatchObject({
    status: 413,
    said: { reason: 'large' },
  });
});

it('a parameter that nobody knows, or that stands twice, is refused, and so is a method that is not taken, with those that are', async () => {
  const operator = await open({}, ['operator']);
  expect(await operator('/calls?sever=a')).toMatchObject({
    status: 400,
    said: {
      reason: 'invalid',
      problem: 'there is no parameter "sever" here',
      advice: expect.stringContaining('server') as string,
    },
  });
  expect(await operator('/processes?a=1')).toMatchObject({ status: 400, said: { reason: 'invalid' } });
  expect(await operator('/calls?server=a&server=b')).toMatchObject({
    status: 400,
    said: { reason: 'invalid', problem: 'server: expected once' },
  });
  expect(await operator('/processes', 'PUT')).toMatchObject({ status: 405, allow: 'GET, HEAD' });
  expect(await operator('/approvals/a', 'PUT')).toMatchObject({ status: 405, allow: 'GET, HEAD, POST, DELETE' });
});

it('a bug is one answer in words, and one line in the log', async () => {
  const asked = await open({}, ['viewer']);
  expect(await asked('/overview')).toMatchObject({ status: 500, said: { reason: 'failed' } });
});

it('what somebody may is said, so that no button is shown that would be refused', () => {
  expect(rightsOf(configOf({}), ['viewer'], 'bob')).toEqual({
    mode: 'full',
    who: 'bob',
    roles: ['viewer'],
    mayChange: false,
    mayWatch: false,
    mayPayloads: false,
    mayPolicy: false,
    mayAudit: false,
    maySeeKeys: false,
    mayKeys: false,
    maySeePrograms: false,
    mayPrograms: false,
    maySeeAgents: false,
    hasAgents: false,
    mayAgents: false,
    mayBlock: false,
    maySeeLabels: false,
    mayEdit: 'no',
    isAudited: false,
  });
  expect(rightsOf(configOf({}), ['auditor'], 'eve')).toMatchObject({
    mayChange: false,
    mayPolicy: true,
    mayAudit: true,
  });
  expect(rightsOf(configOf({ console: { payloads: true } }), ['viewer', 'operator'], 'ann')).toMatchObject({
    mayChange: true,
    mayWatch: true,
    mayPayloads: true,
  });
  expect(rightsOf(configOf({ console: { mode: 'read', payloads: true } }), ['operator'], 'ann')).toMatchObject({
    mode: 'read',
    mayChange: false,
    mayPayloads: false,
  });
});
