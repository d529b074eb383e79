/** Tools that a server lists only for clients that it can ask: the commands and the console list them, and can call them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { base, type Catalogue } from '@omnibus/admin-api';
import { inHere } from '../support/command-here.ts';
import { type GatewayHere, startGatewayHere } from '../support/gateway-here.ts';
import { fixturePath } from '../support/processes.ts';
import { onTerminal } from '../support/terminal.ts';

const names = ['elicitation', 'plain', 'roots', 'sampling'];
let gateway: GatewayHere;
let api: string;
let env: Record<string, string>;
beforeAll(async () => {
  gateway = await startGatewayHere('embedded', {
    mcpServers: { only: { command: 'node', args: [fixturePath('only-asked-server')] } },
  });
  api = `http://${await gateway.admin(gateway.edge)}${base}`;
  env = { OMNIBUS_URL: gateway.url };
});
afterAll(() => gateway[Symbol.asyncDispose]());

it('omnibus tools lists them, of each kind of question', async () => {
  const { stdout } = await inHere(['tools', '--json'], { env });
  expect((JSON.parse(stdout) as { name: string }[]).map(({ name }) => name).toSorted()).toEqual(names);
});

describe('omnibus call', () => {
  it.each([
    ['elicitation', ['--answer', 'name=ann'], { action: 'accept', content: { name: 'ann' } }],
    ['roots', [], { roots: [] }],
    [
      'sampling',
      ['--answer', 'model=so it goes'],
      { role: 'assistant', content: { type: 'text', text: 'so it goes' } },
    ],
  ])('answers a question of %s', async (name, more, said) => {
    const { status, stdout, stderr } = await inHere(['call', name, ...more], { env });
    expect([status, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject(said);
  });

  it('refuses a question for a model without an answer, and says which option answers it', async () => {
    const { stdout, stderr } = await inHere(['call', 'sampling'], { env });
    expect(stdout).toContain('the user gave no answer of a model');
    expect(stderr).toContain('Go on.');
    expect(stderr).toContain('--answer model=');
  });

  it('asks the user on a terminal for the answer of a model', async () => {
    const { shown } = await onTerminal(['call', 'sampling'], [[/empty refuses/, 'written by hand\r']], { env });
    expect(shown).toContain('Go on.');
    expect(shown).toContain('"text":"written by hand"');
  });
});

describe('the console', () => {
  it('has them in the catalogue, marked', async () => {
    const shown = async (): Promise<unknown> => {
      const { entries } = (await (await fetch(`${api}/catalogue`)).json()) as Catalogue;
      return Object.fromEntries(entries.map(({ name, isForAskable = false }) => [name, isForAskable]));
    };
    // The first look makes the gateway read what the server offers to such clients.
    await expect.poll(shown).toEqual(Object.fromEntries(names.map((name) => [name, name !== 'plain'])));
  });

  it.each(['2025-11-25', '2026-07-28'])('tries one as a client of %s that has no roots', async (revision) => {
    const begun = await fetch(`${api}/try`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-omnibus-console': '1' },
      body: JSON.stringify({ name: 'roots', revision, may: ['forms', 'links', 'sampling', 'roots'] }),
    });
    const { id } = (await begun.json()) as { id: string };
    expect(id).toBeDefined();
    const events = await (await fetch(`${api}/try/${id}/events`)).text();
    expect(events).toContain('event: result');
    expect(events).toContain('\\"roots\\\\\\":[]');
  });
});
