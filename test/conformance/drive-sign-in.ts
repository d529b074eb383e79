/**
 * The steps of the `auth/*` scenarios of the conformance suites: a gateway in front of the suite's own server, and a client of the gateway with a user that signs
 * in on every request. The suite decides whether refusals of the gateway are right.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { signInName } from '@omnibus/protocol';
import { Balancer } from '../support/balancer.ts';
import { signInAt } from '../support/browse.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import type { Shape } from '../support/gateway.ts';
import { RawClient, type Answer } from '../support/raw-client.ts';
import type { Drive, Started } from './driver.ts';

/** Sign-ins of one call. */
const maxSignIns = 3;

/** Between two looks at whether another sign-in is demanded, and before a call is made again. */
const lookMs = 100;

/** Calls that the gateway asks its client to make again. */
const maxRepeats = 20;

/** The issuer of the configured client secret, as an operator would know it. */
async function issuerOf(url: string): Promise<string | undefined> {
  const { origin, pathname } = new URL(url);
  const said = await fetch(`${origin}/.well-known/oauth-protected-resource${pathname}`);
  return said.ok
    ? ((await said.json()) as { readonly authorization_servers?: readonly string[] }).authorization_servers?.[0]
    : origin;
}

/** The credentials of the suite's server in the configuration, from what the scenario tells clients. @param folder for files that they name. */
async function credentialsOf({ url, scenario, context }: Started, folder: string): Promise<object> {
  const said = JSON.parse(context) as Readonly<Record<string, string | undefined>>;
  const {
    client_id: clientId,
    client_secret: clientSecret,
    private_key_pem: privateKey,
    signing_algorithm: algorithm,
    valid_jwt: assertion,
  } = said;
  if (assertion !== undefined) {
    const assertionFile = join(folder, 'assertion');
    await writeFile(assertionFile, assertion);
    return { kind: 'client', issuer: await issuerOf(url), clientId, assertionFile };
  }
  const { idp_issuer: idp, idp_client_id: idpClientId, idp_id_token: idToken } = said;
  if (idToken !== undefined) {
    const idTokenFile = join(folder, 'id-token');
    await writeFile(idTokenFile, idToken);
    return {
      kind: 'enterprise',
      issuer: await issuerOf(url),
      clientId,
      clientSecret,
      identityProvider: { issuer: idp, clientId: idpClientId, idTokenFile },
    };
  }
  if (scenario.startsWith('auth/client-credentials'))
    return { kind: 'client', issuer: await issuerOf(url), clientId, clientSecret, privateKey, algorithm };
  if (scenario === 'auth/basic-cimd')
    return { kind: 'oauth', clientMetadataUrl: 'https://conformance-test.local/client-metadata.json' };
  return {
    kind: 'oauth',
    issuer: clientSecret === undefined ? undefined : await issuerOf(url),
    clientId,
    clientSecret,
  };
}

/** The options of a gateway in front of the suite's server. @param folder for its files. */
export async function inFrontOf(started: Started, shape: Shape, folder: string): Promise<object> {
  return {
    vault: {
      file: join(folder, 'vault.json'),
      ...(shape === 'embedded' ? {} : { keys: [`a:${randomBytes(32).toString('base64')}`] }),
    },
    mcpServers: {
      suite: {
        url: started.url,
        restart: { minDelay: '50ms', maxDelay: '200ms' },
        credentials: await credentialsOf(started, folder),
      },
    },
  };
}

/** @param shape of the gateway in front of the suite's server. @returns the steps of a scenario. */
export function driveSignIn(shape: Shape): Drive {
  return async (started, print) => {
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-auth-'));
    try {
      // A part that connects to servers does not know the port of the edge.
      await using front = await Balancer.start();
      await using gateway = await startGatewayHere(shape, {
        publicUrl: front.url,
        ...(await inFrontOf(started, shape, folder)),
      });
      front.edges = [gateway.url];
      using client = await askableClient(gateway.url);
      await callAndSignIn(client, started.scenario, print);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
}

/** A client that opens pages for its user. */
function askableClient(url: string): Promise<RawClient> {
  return RawClient.open(url, '2025-11-25', {}, { elicitation: { url: {} } });
}

/** The page of a sign-in that an answer demands. */
const addressIn = ({ last: { error } }: Answer): string | undefined =>
  error?.code === -32_042 ? (error.data?.['elicitations'] as readonly { readonly url: string }[])[0]?.url : undefined;

/**
 * Waits until the server demands another sign-in, since it refuses the tokens of the one before. If it has done so before it has listed anything, the tool that
 * stands for it remains the only one, and no list is announced: then the tool leads to a new page.
 * @returns the name of that tool; none if aborted
 */
async function untilAskedAgain(
  client: RawClient,
  opened: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  while (!signal.aborted) {
    for (const name of (await client.toolNames()).filter((each) => each.endsWith(signInName))) {
      const address = addressIn(await client.callTool(name));
      if (address !== undefined && !opened.has(address)) return [name];
    }
    await delay(lookMs);
  }
  return [];
}

/** Whether the client shall make the call again as it was: the suite's server forgets its session at once, and the connection to it opens anew. */
const isToRepeat = ({ last: { error } }: Answer): boolean =>
  error?.data?.['reason'] === 'upstream.unavailable' && error.data['retry'] === 'same';

/** Calls every tool, and again after each sign-in. */
async function callAndSignIn(client: RawClient, scenario: string, print: (line: string) => void): Promise<void> {
  // A server may list nothing even after the sign-in, such as one that always demands more rights. One that lists something does so long before.
  const listMs = scenario === 'auth/scope-retry-limit' ? 8_000 : 60_000;
  const opened = new Set<string>();
  let repeats = 0;
  for (;;) {
    // What stands for the server until its user has signed in says nothing after a sign-in.
    const over = new AbortController();
    const names = await Promise.race([
      client.untilTools((all) => all.some((name) => opened.size === 0 || !name.endsWith(signInName))),
      ...(opened.size > 0 && scenario === 'auth/authorization-server-migration'
        ? [untilAskedAgain(client, opened, over.signal)]
        : []),
      delay(listMs, [] as readonly string[], { ref: false }),
    ]);
    over.abort();
    const answers: readonly Answer[] = await Promise.all(names.map((name) => client.callTool(name)));
    const address = answers.map(addressIn).find((each) => each !== undefined);
    if (answers.some(isToRepeat) && repeats < maxRepeats) {
      repeats += 1;
      await delay(lookMs);
      continue;
    }
    // New tokens are used after a moment; until then the answer has the same address again.
    if (address !== undefined && opened.has(address)) continue;
    print(`${scenario}: ${names.join(', ')}: ${JSON.stringify(answers.map(({ last }) => last.error ?? last.result))}`);
    if (address === undefined || opened.size === maxSignIns) return;
    opened.add(address);
    const page = await signInAt(address);
    const said = /<h1>(.*)<\/h1>\s*<p>(.*)<\/p>/.exec(page.text)?.slice(1).join(': ') ?? '';
    print(`${scenario}: ${page.status} ${said}`);
    if (page.status !== 200) return;
  }
}
