/** Every feature for every pair of a client's and a server's revision, in both shapes. Prints the matrix. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../support/gateway.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';
import { capabilitiesOf, EraClient } from './era-client.ts';
import { EraServer, revisions, type MatrixRevision } from './era-server.ts';
import { features, type Ending } from './features.ts';

const serverName = (revision: MatrixRevision): string => `r${revision.replaceAll('-', '')}`;

const answers = {
  'roots/list': () => ({ roots: [{ uri: 'file:///era', name: 'era' }] }),
  'sampling/createMessage': () => ({ role: 'assistant', content: { type: 'text', text: 'sampled' }, model: 'none' }),
  'elicitation/create': () => ({ action: 'accept', content: { answer: 'given' } }),
};

describe.each(shapes)('every feature for every pair of revisions, %s', (shape) => {
  const servers = new Map<MatrixRevision, EraServer>();
  const endings = new Map<string, Map<string, Ending | '✗'>>(
    Object.keys(features).map((feature) => [feature, new Map()]),
  );
  let gateway: GatewayHere;

  beforeAll(async () => {
    for (const revision of revisions) servers.set(revision, await EraServer.start(revision));
    gateway = await startGatewayHere(shape, {
      mcpServers: Object.fromEntries([...servers].map(([revision, { url }]) => [serverName(revision), { url }])),
    });
    using client = await RawClient.open(gateway.url);
    await client.untilTools((names) => revisions.every((revision) => names.includes(`${serverName(revision)}__echo`)));
  });

  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
    for (const server of servers.values()) await server[Symbol.asyncDispose]();
    process.stdout.write(
      `\n${shape}: what a client (rows of a group, oldest first) gets of a server (columns, oldest first)\n${render(endings)}\n`,
    );
  });

  describe.each(revisions)('a client of %s', (clientRevision) => {
    it.each(revisions)('and a server of %s', async (serverRevision) => {
      const server = servers.get(serverRevision) as EraServer;
      using client = await EraClient.open({
        url: gateway.url,
        revision: clientRevision,
        answers,
        capabilities: capabilitiesOf(clientRevision),
      });
      const failures: string[] = [];
      for (const [feature, run] of Object.entries(features)) {
        let ending: Ending | '✗' = '✗';
        try {
          ending = await run({ client, server, named: (name) => `${serverName(serverRevision)}__${name}` });
        } catch (error) {
          failures.push(`${feature}: ${String(error)}`);
        }
        endings.get(feature)?.set(`${clientRevision} ${serverRevision}`, ending);
      }
      expect(failures).toEqual([]);
    });
  });
});

/** One line for each feature, with a group of columns for each client revision and in it one mark for each server revision. */
function render(endings: ReadonlyMap<string, ReadonlyMap<string, Ending | '✗'>>): string {
  const width = Math.max(...[...endings.keys()].map((feature) => feature.length)) + 2;
  const head = ' '.repeat(width) + revisions.map((revision) => revision.padEnd(revisions.length * 2 + 1)).join('  ');
  const lines = [...endings].map(
    ([feature, cells]) =>
      feature.padEnd(width) +
      revisions
        .map((client) =>
          revisions
            .map((server) => cells.get(`${client} ${server}`) ?? '?')
            .join(' ')
            .padEnd(revisions.length * 2 + 1),
        )
        .join('  '),
  );
  return [
    head,
    ...lines,
    '',
    "● as the server said it   ◐ in the words of the client's revision   · one side has no such thing",
  ].join('\n');
}
