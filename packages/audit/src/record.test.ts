import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonical, parseJson, rootEndpoint, type EndpointName, type Principal } from '@omnibus/protocol';
import type { AuditEvent, Who } from './event.ts';
import { Members } from './members.ts';
import { RecordForm } from './record.ts';
import { sha256 } from './sha256.ts';

const at = Date.parse('2026-07-28T12:00:00.000Z');

/** A record as it is read again, without the members that every one has. */
function read(form: RecordForm, event: AuditEvent): Readonly<Record<string, unknown>> {
  const members = new Members();
  form.write(members, event, at);
  const {
    time,
    'event.name': name,
    'service.instance.id': instance,
    ...rest
  } = JSON.parse(`${members.written().toString()}}`) as Record<string, unknown>;
  expect([time, name, instance]).toEqual(['2026-07-28T12:00:00.000Z', event.name, 'worker-1']);
  return rest;
}

const makeForm = (who: 'key' | 'names' = 'names'): RecordForm =>
  new RecordForm({ who, rules: [], instance: 'worker-1' });
/** Empty texts are left out, but not among the further members. */
const given = (record: Readonly<Record<string, unknown>>, more: AuditEvent['more'] = {}): Record<string, unknown> =>
  Object.fromEntries([
    ...Object.entries(record).filter(([, value]) => value !== undefined && value !== ''),
    ...Object.entries(more)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [`omnibus.${name}`, value]),
  ]) as Record<string, unknown>;

describe('a record', () => {
  /** Texts as others choose them: quotation marks, line ends, halves of characters, nothing. */
  const text = fc.option(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom('', '"', '\\', '\n', '\uD800', 'Ärger', 'plain'),
    ),
    { nil: undefined },
  );
  const number = fc.option(fc.oneof(fc.integer({ min: -40_000, max: 1_000_000 }), fc.maxSafeInteger()), {
    nil: undefined,
  });
  const actors = fc.option(fc.array(fc.record({ issuer: fc.string(), subject: fc.string() }), { maxLength: 2 }), {
    nil: undefined,
  });
  const who = fc.record({
    principal: text,
    issuer: text,
    subject: text,
    tenant: text,
    client: text,
    key: text,
    address: text,
    actors,
  });
  const event = fc.record({
    name: fc.constantFrom('mcp.call', 'mcp.list', 'admin.keys.add'),
    weight: fc.constant('write'),
    who: fc.option(who, { nil: undefined }),
    endpoint: fc.option(fc.constantFrom('', 'team', 'a"b'), { nil: undefined }),
    session: text,
    method: fc.option(fc.constantFrom('tools/call', 'prompts/get', 'x/"y'), { nil: undefined }),
    revision: fc.option(fc.constantFrom('2025-11-25', '2026-07-28'), { nil: undefined }),
    id: fc.option(fc.oneof(fc.integer(), fc.string()), { nil: undefined }),
    server: text,
    target: text,
    publicName: text,
    outcome: fc.option(fc.constantFrom('ok', 'denied', 'tool_error'), { nil: undefined }),
    reason: text,
    code: number,
    rule: text,
    policy: text,
    durationMs: fc.option(
      fc.oneof(fc.double({ min: 0, max: 100_000, noNaN: true }), fc.double({ min: 0, max: 1e12, noNaN: true })),
      { nil: undefined },
    ),
    responseBytes: number,
    args: fc.option(fc.record({ text: fc.string() }), { nil: undefined }),
    more: fc.option(fc.record({ detail: text, count: number }), { nil: undefined }),
  }) as fc.Arbitrary<AuditEvent>;
  /** The part of a text that is read again: 256 characters at most, and no halves of characters. */
  const cut = (value: string | undefined): string | undefined =>
    value === undefined || value.length <= 256 ? value : `${value.slice(0, 256)}…`;

  it('holds each member that its event has, whatever the texts are and whichever records were before it', () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 12 }), (events) => {
        const form = makeForm();
        for (const each of events) {
          const { who: caller = {}, method, outcome, args, id, endpoint, more = {} } = each;
          expect(read(form, each)).toEqual(
            given(
              {
                'mcp.method.name': cut(method),
                'mcp.protocol.version': each.revision,
                'mcp.session.id': cut(each.session),
                'gen_ai.operation.name': method === 'tools/call' ? 'execute_tool' : undefined,
                [method === 'prompts/get' ? 'gen_ai.prompt.name' : 'gen_ai.tool.name']: cut(each.publicName),
                'jsonrpc.request.id': id === undefined || typeof id === 'object' ? undefined : cut(String(id)),
                'error.type': outcome === 'tool_error' ? outcome : cut(each.reason),
                'rpc.response.status_code': each.code,
                'client.address': cut(caller.address),
                'omnibus.principal': cut(caller.principal),
                'user.id': cut(caller.subject),
                'omnibus.issuer': cut(caller.issuer),
                'omnibus.actors':
                  (caller.actors ?? []).length === 0
                    ? undefined
                    : caller.actors?.map(({ issuer, subject }) => `${issuer}|${subject}`),
                'omnibus.tenant': cut(caller.tenant),
                'omnibus.client': cut(caller.client),
                'omnibus.key': cut(caller.key),
                'omnibus.endpoint': endpoint === undefined ? undefined : `/mcp${endpoint === '' ? '' : `/${endpoint}`}`,
                'omnibus.server': cut(each.server),
                'omnibus.tool': cut(each.target),
                'omnibus.outcome': outcome,
                'omnibus.rule': cut(each.rule),
                'omnibus.policy': cut(each.policy),
                'omnibus.duration_ms':
                  each.durationMs === undefined ? undefined : Math.round(each.durationMs * 10) / 10,
                ...(args === undefined
                  ? {}
                  : {
                      'omnibus.arguments_digest': `sha256:${sha256(JSON.stringify(args))}`,
                      'omnibus.request_bytes': Buffer.byteLength(JSON.stringify(args)),
                    }),
                'omnibus.response_bytes': each.responseBytes,
              },
              more,
            ),
          );
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is about the caller of its own event, where callers differ by one member only', () => {
    const form = makeForm();
    const ann: Who = {
      principal: 'p_1' as Principal,
      issuer: 'https://idp.test',
      subject: 'ann',
      tenant: 'red',
      client: 'editor',
      key: 'k1',
    };
    const others: readonly Who[] = [
      ann,
      { ...ann, client: 'terminal' },
      { ...ann, key: 'k2' },
      { ...ann, tenant: 'blue' },
      { ...ann, subject: 'ben' },
      { ...ann, actors: [{ issuer: 'i', subject: 'bot' }] },
      { ...ann, address: '10.0.0.1' },
      ann,
    ];
    for (const who of others) {
      expect(read(form, { name: 'mcp.call', weight: 'write', who, endpoint: rootEndpoint })).toEqual(
        given({
          'client.address': who.address,
          'omnibus.principal': 'p_1',
          'user.id': who.subject,
          'omnibus.issuer': who.issuer,
          'omnibus.actors': who.actors?.map(({ issuer, subject }) => `${issuer}|${subject}`),
          'omnibus.tenant': who.tenant,
          'omnibus.client': who.client,
          'omnibus.key': who.key,
          'omnibus.endpoint': '/mcp',
        }),
      );
    }
    expect(read(form, { name: 'mcp.call', weight: 'write', who: ann, endpoint: 'team' as EndpointName })).toMatchObject(
      { 'omnibus.endpoint': '/mcp/team' },
    );
  });
});

it('has a digest of the arguments in canonical form, whatever they are', () => {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc
      .dictionary(
        fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('b', 'a', '10', '9', '__proto__', 'x'.repeat(100))),
        fc.oneof(fc.string({ unit: 'binary', maxLength: 100 }), fc.double(), fc.maxSafeInteger()),
      )
      .map((object) => JSON.parse(JSON.stringify(object)) as unknown),
    fc.constantFrom(
      parseJson('{"b":[1e400,-0,{"z":1,"a":12345678901234567890}],"a":0.10}'),
      parseJson('[]'),
      parseJson('{}'),
      { left: undefined, out: 1 },
      'ä'.repeat(5_000),
    ),
  );
  const members = new Members();
  fc.assert(
    fc.property(value, (each) => {
      members.clear();
      members.canonical(each);
      expect(members.written().toString()).toBe(Buffer.from(canonical(each)).toString());
    }),
    { numRuns: 1_000 },
  );
});
