/** Callers with calls to one adapter, because it may have state for them. */
import { describe, expect, it } from 'vitest';
import { configOf } from '@omnibus/config/testing';
import {
  anonymous,
  localUser,
  newRequestKey,
  parseServerName,
  type ExchangeContext,
  type Principal,
  type SessionKey,
} from '@omnibus/protocol';
import { ServerSettings } from './server-settings.ts';

const ann = 'p_ann' as Principal;
const session = newRequestKey() as string as SessionKey;
const known = { principal: ann, session, standsAlone: false, capabilities: {} };
const askable = { capabilities: { elicitation: {}, extensions: {} } };
const clients = {
  knownAlone: { standsAlone: true, client: { id: ann, isOne: false } },
  local: { principal: anonymous, standsAlone: true, client: localUser },
};

function keptFor(server: object, more: Partial<ExchangeContext>): string | undefined {
  const config = configOf({ mcpServers: { up: server } });
  return new ServerSettings(config).keptFor(parseServerName('up'), { ...known, ...more });
}

const program = { command: 'node' };
const web = { url: 'http://127.0.0.1:1/mcp' };

describe('an adapter may keep something', () => {
  it.for([
    ['in a program, for a known caller, whatever session he uses', program, {}, ann],
    ['in a program, for a known caller without a session', program, clients.knownAlone, ann],
    ['in a program, for a session that may be asked something', program, askable, session],
    ['in a program, for a session of nobody in particular', program, { principal: anonymous }, session],
    ['in a program, for the user of this machine', program, clients.local, 'local'],
    ['in a program of each session, for the session', { ...program, isolation: 'session' }, {}, session],
    ["where connections are a known caller's, for him", { ...web, isolation: 'principal' }, askable, ann],
    [
      "where connections are a known caller's, for a session of nobody in particular",
      { ...web, isolation: 'principal' },
      { principal: anonymous },
      session,
    ],
    ['over a connection of a session that may be asked something, for the session', web, askable, session],
    ["over everybody's connection, for nobody", web, {}, undefined],
    ['over a connection that all are to share, for nobody', { ...web, isolation: 'shared' }, askable, undefined],
  ] as const)('%s', ([, server, more, expected]) => {
    expect(keptFor(server, more as Partial<ExchangeContext>)).toBe(expected);
  });
});
