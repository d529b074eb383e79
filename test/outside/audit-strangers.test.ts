/** Another program writes into the stream of the audit under the name of a process of the gateway. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { subjects } from '@omnibus/bus';
import { Outsider } from '@omnibus/bus/testing';
import { expect, it, onTestFinished } from 'vitest';
import { saidHere } from '../support/command-here.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { Keys } from '../support/keys.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

const root = subjects.presence.name.replace(/presence$/, '');

/** Runs a command. @returns its exit status and output. */
async function omnibus(...args: string[]): Promise<readonly [number, string]> {
  const { status, output } = await saidHere(args);
  return [status, output];
}

it('calls go on with audit.strict, no record is lost, and verify shows the entries as foreign', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-audit-strangers-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { privateKey } = generateKeyPairSync('ed25519');
  await writeFile(join(folder, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  await using keys = await Keys.make('ann', 'eve');
  const auth = { ...keys.auth, admin: { roles: { auditor: ['key:eve'] } } };
  const audit = {
    strict: true,
    sinks: [{ kind: 'jetstream' }],
    checkpoints: { keyFile: join(folder, 'key.pem'), file: join(folder, 'checkpoints.jsonl') },
  };
  await using upstream = await Upstream.start({ tools: [tool('write')], onCall: (call) => call.answer(text('done')) });
  await using gateway = await startGatewayHere('nats', { mcpServers: { up: { url: upstream.url } }, audit, auth });
  await using outsider = await Outsider.connect(gateway.bus as string);
  const names = new Set<string>();
  outsider.subscribe(`${root}audit.>`, (subject) => names.add(subject));
  using client = await RawClient.open(gateway.url, undefined, keys.headersOf('ann'));
  await client.untilTools((tools) => tools.length === 1);
  let answered = 0;
  const write = async (): Promise<void> => {
    expect((await client.callTool('write')).last.result).toEqual(text('done'));
    answered += 1;
  };
  await write();
  const isOfSession = (name: string): boolean => name.includes('session-');
  await expect.poll(() => [...names].some(isOfSession)).toBe(true);
  const former = [...names];
  for (const name of former) outsider.publish(name, 'no record');
  await outsider.flush();
  for (let count = 0; count < 5; count += 1) await write();
  const later = (): string | undefined => [...names].find((name) => isOfSession(name) && !former.includes(name));
  await expect.poll(later).toBeDefined();
  outsider.publish(later() as string, 'no record either');
  await outsider.flush();
  for (let count = 0; count < 5; count += 1) await write();
  // The console verifies one chain, and follows it to the names under which it went on.
  const writer = (former.find(isOfSession) as string).split('.').at(-1) as string;
  const verified = await fetch(
    `http://${await gateway.admin(gateway.backend)}/api/v1/audit/verify?${new URLSearchParams({ source: 'nats', writer }).toString()}`,
    { headers: keys.headersOf('eve') },
  );
  const answer = await verified.text();
  const shown = /event: verified\ndata: (.*)\n/.exec(answer)?.[1] ?? expect.fail(answer);
  const { findings } = JSON.parse(shown) as { readonly findings: readonly { readonly weight: string }[] };
  expect(new Set(findings.map(({ weight }) => weight))).toEqual(new Set(['foreign', 'open']));
  for (const part of gateway.processes) await part.stop();
  const file = join(folder, 'omnibus.yaml');
  await writeFile(file, JSON.stringify({ bus: gateway.bus, audit, mcpServers: { up: { url: upstream.url } } }));
  const [status, said] = await omnibus('audit', 'verify', '--bus', '--config', file);
  expect([status, said.match(/FOREIGN/g)?.length, said.match(/CHANGED|NOT WHOLE/g)]).toEqual([
    7,
    former.length + 1,
    null,
  ]);
  const [, found] = await omnibus('audit', 'search', '--bus', '--config', file, '--tool', 'write', '--json');
  const outcomes = found
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as Readonly<Record<string, unknown>>)['omnibus.outcome']);
  for (const outcome of ['started', 'ok'])
    expect(outcomes.filter((each) => each === outcome).length, outcome).toBe(answered);
});
