import { afterEach, beforeEach, it } from 'vitest';
import { Browser } from '../support/sign-in.ts';
import { StandIns } from '../support/stand-in.ts';
import { runPage, type Output } from './page.ts';

let standIns: StandIns;

beforeEach(async () => {
  standIns = await StandIns.start();
});

afterEach(() => standIns[Symbol.asyncDispose]());

/** The reader signs in with a browser: the provider asks nothing, and the gateway asks whether the client is allowed. */
async function signIn(output: Output): Promise<void> {
  const [address] = await output.find(/http:\/\/\S+\/authorize\S*/);
  const browser = new Browser();
  await browser.submit(await browser.open(address), '/consent');
}

it('colleagues sign in at a provider and meet three policies, as docs/tutorials/2-team-server.md shows it', async () => {
  const roles: string[] = [];
  standIns.providers = [
    {
      path: '/keycloak/realms/acme',
      clientId: 'omnibus',
      secret: 'the-secret-of-the-client',
      refreshes: () => true,
      idToken: () => ({ sub: 'ann', azp: 'omnibus', typ: 'ID', name: 'Ann', realm_access: { roles } }),
    },
  ];
  await runPage('tutorials/2-team-server', {
    instead: { 'https://keycloak.example.com': `${standIns.url}/keycloak` },
    acts: {
      browser: signIn,
      editor: (output) => {
        roles.push('editors');
        return signIn(output);
      },
    },
    leftOut: {
      example: 'it needs a public address, or GitHub; test/outside/recipes.test.ts runs the recipe for GitHub',
    },
  });
}, 180_000);
