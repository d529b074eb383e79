/** The issuer of a server, by the answers of the server and the issuer. */
import { expect, it } from 'vitest';
import { discover, issuersNamed } from './discovery.ts';
import type { Fetch } from './outbound.ts';

const url = 'https://server.example/mcp';
const wellKnown = 'https://server.example/.well-known';
const endpoints = {
  authorization_endpoint: 'https://server.example/authorize',
  token_endpoint: 'https://server.example/token',
};

/** All other addresses are answered 404. */
const answering =
  (answers: Readonly<Record<string, number | object>>): Fetch =>
  (address) => {
    const answer = answers[address] ?? 404;
    return Promise.resolve(
      typeof answer === 'number' ? new Response('no', { status: answer }) : new Response(JSON.stringify(answer)),
    );
  };

it.each(['https://issuer.example', 'https://server.example.evil.example', 'http://server.example', 'no address'])(
  'a server that says nothing of its issuer is not believed to be %s',
  async (issuer) => {
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      await expect(
        discover({ fetch: answering({ [`${wellKnown}/${name}`]: { issuer, ...endpoints } }), url }),
      ).rejects.toThrow(/which is not at https:\/\/server\.example/);
    }
  },
);

it.each(['https://server.example', 'https://server.example/', 'https://server.example/tenant'])(
  'a server that says nothing of its issuer may be %s',
  async (issuer) => {
    expect(
      await discover({
        fetch: answering({ [`${wellKnown}/oauth-authorization-server`]: { issuer, ...endpoints } }),
        url,
      }),
    ).toMatchObject({ issuer, server: endpoints });
  },
);

it.each([
  ['https://server.example/mcp', 'https://server.example/mcp'],
  ['https://server.example/', 'https://server.example'],
  ['https://server.example/mcp?key=secret#part', 'https://server.example/mcp'],
])('a server without metadata is the resource of its own address: for %s that is %s', async (address, resource) => {
  expect(
    await discover({
      fetch: answering({
        [`${wellKnown}/oauth-authorization-server`]: { issuer: 'https://server.example', ...endpoints },
      }),
      url: address,
    }),
  ).toMatchObject({ resource });
});

it.each([429, 500, 502, 503])(
  'a metadata address that answers HTTP %i says nothing for good: neither that there is no document nor that the server is its own issuer',
  async (status) => {
    const told = await discover({
      fetch: answering({
        [`${wellKnown}/oauth-protected-resource/mcp`]: status,
        [`${wellKnown}/oauth-authorization-server`]: { issuer: 'https://server.example', ...endpoints },
      }),
      url,
    }).catch((error: unknown) => error);
    expect(told).toMatchObject({ name: 'CredentialProblem', isPassing: true });
  },
);

it.each([403, 502])(
  'an address where something in front of a server answers HTTP %i is passed over for one that has a document',
  async (status) => {
    const issuer = 'https://issuer.example/tenant';
    const fetch = answering({
      [`${wellKnown}/oauth-protected-resource/mcp`]: status,
      [`${wellKnown}/oauth-protected-resource`]: {
        resource: 'https://server.example',
        authorization_servers: [issuer],
      },
      'https://issuer.example/.well-known/oauth-authorization-server/tenant': status,
      [`${issuer}/.well-known/openid-configuration`]: { issuer, ...endpoints },
    });
    expect(await discover({ fetch, url })).toMatchObject({ issuer });
  },
);

it('a server that forbids whatever it does not have is signed in to as one that has nothing there, unless it has named the address itself', async () => {
  const answers = {
    [`${wellKnown}/oauth-protected-resource/mcp`]: 403,
    [`${wellKnown}/oauth-protected-resource`]: 403,
    [`${wellKnown}/oauth-authorization-server`]: { issuer: 'https://server.example', ...endpoints },
    'https://server.example/named': 403,
  };
  expect(await discover({ fetch: answering(answers), url })).toMatchObject({ issuer: 'https://server.example' });
  await expect(
    discover({ fetch: answering(answers), url, resourceMetadata: 'https://server.example/named' }),
  ).rejects.toMatchObject({ isPassing: true });
  await expect(
    issuersNamed({ fetch: answering({ ...answers, [`${wellKnown}/oauth-authorization-server`]: 403 }), url }),
  ).rejects.toMatchObject({ isPassing: true });
});

it('where the address that a server has named has nothing, its metadata are looked for at the usual ones', async () => {
  const fetch = answering({
    [`${wellKnown}/oauth-protected-resource/mcp`]: { resource: url, authorization_servers: ['https://issuer.example'] },
    'https://issuer.example/.well-known/oauth-authorization-server': { issuer: 'https://issuer.example', ...endpoints },
  });
  expect(await discover({ fetch, url, resourceMetadata: 'https://server.example/gone' })).toMatchObject({
    issuer: 'https://issuer.example',
    resource: url,
  });
});
