import { describe, expect, it } from 'vitest';
import {
  anonymous,
  newRequestKey,
  type ExchangeContext,
  type ExchangeOutcome,
  type JsonObject,
  type LogLevel,
  type SessionKey,
} from '@omnibus/protocol';
import { AdapterUnderTest } from '../../adapter-under-test.ts';
import { LogLevels, type LevelledConnection } from './log-levels.ts';

const connection = (owner?: SessionKey, isModern = false): LevelledConnection => ({
  owner,
  dialect: { keepsLogLevel: !isModern },
  ask: () => Promise.resolve({ kind: 'result', result: {} }),
});
const contextOf = (session: SessionKey, logLevel?: LogLevel, standsAlone = false): ExchangeContext => ({
  principal: anonymous,
  session,
  capabilities: {},
  standsAlone,
  logLevel,
  wantsProgress: false,
  maxTimeMs: 1_000,
});

function levels(...connections: readonly LevelledConnection[]) {
  const told: (readonly [at: number, level: unknown])[] = [];
  const made = new LogLevels({
    connections: () => connections,
    hasLogging: () => true,
    tell: (_method, { level }, at) => {
      told.push([connections.indexOf(at), level]);
      return Promise.resolve();
    },
  });
  return { made, told };
}

describe('the levels a server is told', () => {
  it("a connection of one session has that session's level, and no other's", () => {
    const [one, two] = [newRequestKey(), newRequestKey()];
    const { made, told } = levels(connection(one), connection(two));
    made.set(one, 'debug');
    made.set(two, 'error');
    expect(told).toEqual([
      [0, 'debug'],
      [1, 'error'],
    ]);
  });

  it('a connection that several use has the most verbose level, and at least what is usual for those that set none', () => {
    const { made, told } = levels(connection());
    made.set(newRequestKey(), 'error');
    made.set(newRequestKey(), 'notice');
    const verbose = newRequestKey();
    made.set(verbose, 'debug');
    made.remove(verbose);
    expect(told).toEqual([
      [0, 'info'],
      [0, 'debug'],
      [0, 'info'],
    ]);
  });

  it("a session that set none has what the server says of itself; while another's level is in force there, what is usual", () => {
    const shared = connection();
    const { made } = levels(shared);
    const [quiet, loud] = [newRequestKey(), newRequestKey()];
    expect(made.least(shared, contextOf(quiet))).toBeUndefined();
    made.set(loud, 'debug');
    expect(made.least(shared, contextOf(quiet))).toBe('info');
    expect(made.least(shared, contextOf(loud, 'debug'))).toBe('debug');
    expect(made.least(connection(quiet), contextOf(quiet))).toBeUndefined();
    expect(made.least(connection(undefined, true), contextOf(quiet))).toBeUndefined();
  });

  it('a request without a session that had the server say more leaves others what is usual', () => {
    const shared = connection();
    const { made } = levels(shared);
    expect(made.raise(shared, contextOf(newRequestKey(), 'debug', true))).toBeDefined();
    expect(made.least(shared, contextOf(newRequestKey()))).toBe('info');
  });

  it('a session is answered what its server says to the level it sets, and one that is refused is in force nowhere', async () => {
    const asked: JsonObject[] = [];
    let outcome: ExchangeOutcome = { kind: 'error', error: { code: -32_050, message: 'never', data: [1] } };
    const shared: LevelledConnection = {
      owner: undefined,
      dialect: { keepsLogLevel: true },
      ask: (_method, params) => {
        asked.push(params);
        return Promise.resolve(outcome);
      },
    };
    const { made, told } = levels(shared);
    const [one, two] = [newRequestKey(), newRequestKey()];
    expect(await made.judged(shared, { params: { level: 'alert' }, context: contextOf(one) })).toEqual(outcome);
    expect(await made.judged(shared, { params: { level: 'loud' }, context: contextOf(one) })).toEqual(outcome);
    expect([...made.sessions]).toEqual([]);
    outcome = { kind: 'result', result: { _meta: { kept: true } } };
    expect(await made.judged(shared, { params: { level: 'debug' }, context: contextOf(two) })).toEqual(outcome);
    expect(await made.judged(shared, { params: { level: 'error' }, context: contextOf(one) })).toEqual(outcome);
    expect(asked.map(({ level }) => level)).toEqual(['info', 'loud', 'debug', 'debug']);
    made.set(two, 'debug');
    expect(told).toEqual([]);
  });

  it('a level that a server takes and nobody knows is refused, and what was in force is again', async () => {
    const shared = connection();
    const { made, told } = levels(shared);
    made.set(newRequestKey(), 'debug');
    expect(await made.judged(shared, { params: { level: 'loud' }, context: contextOf(newRequestKey()) })).toMatchObject(
      { kind: 'fault', fault: { reason: 'params.invalid' } },
    );
    expect(told).toEqual([
      [0, 'debug'],
      [0, 'debug'],
    ]);
  });
});

describe('a client that sets a level and then calls', () => {
  it.each([
    ['a connection that several use', {}],
    ['a connection of its own, which its first call opens', { elicitation: {} }],
  ])('is called for after the server has taken the level: over %s', async (_over, capabilities) => {
    const taken = Promise.withResolvers<void>();
    await using it = await AdapterUnderTest.start({
      capabilities: { tools: {}, logging: {} },
      async says({ method }) {
        if (method === 'logging/setLevel') await taken.promise;
        return undefined;
      },
    });
    await it.adapter.firstAttempt;
    const session = newRequestKey() as string as SessionKey;
    it.control({ kind: 'log-level', level: 'debug', session });
    await it.heard.untilSome(({ method }) => method === 'logging/setLevel');
    const called = it.call(session, 'tools/call', { name: 'act' }, { capabilities, logLevel: 'debug' });
    // Calls of a client without a level over the same connection do not wait.
    await it.call(newRequestKey() as string as SessionKey, 'tools/call', { name: 'act' }, { capabilities });
    expect(it.count('tools/call')).toBe(1);
    taken.resolve();
    expect(await called).toMatchObject({ kind: 'result' });
    const last = it.heard.values.findLast(({ method }) => method === 'tools/call');
    expect(
      it.heard.values.filter((each) => each.session === last?.session).map(({ method }) => method),
      'the connection of the call',
    ).toContain('logging/setLevel');
  });
});
