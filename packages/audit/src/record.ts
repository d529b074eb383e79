/**
 * The members of a record. Names are those of OpenTelemetry where it has one (semantic conventions, gen-ai/mcp), others begin with `omnibus.`. Every record
 * is one line of JSON with a fixed order of members.
 */
import { canonical, isRawNumber, type EndpointName } from '@omnibus/protocol';
import { sha256 } from './sha256.ts';
import type { AuditEvent, Who } from './event.ts';
import { headOf, Members } from './members.ts';
import { cutUri, Recorder, ruleFor, type RecordingRule } from './redaction.ts';

export interface RecordOptions {
  /** `key`: a record names its caller by the principal's key only. `names`: also by issuer, subject and actors. */
  readonly who: 'key' | 'names';
  /** Which arguments and results are recorded in addition to their digest. */
  readonly rules: readonly RecordingRule[];
  /** The key for digests of recorded values. */
  readonly key?: Buffer | undefined;
  /** The name of this process. */
  readonly instance: string;
}

interface Recorders {
  readonly args: Recorder;
  readonly results: Recorder;
}

/** Bounds on the characters of a name or text that others chose, and of an address, which is cut before (`cutUri`). */
const maxText = 256;
const maxUri = Infinity;
/** Bound on tools and on callers with cached members, and on tools with a cached rule. */
const maxKnown = 10_000;

/** Members that many records share, as they are written. */
interface Known {
  readonly members: Uint8Array;
}

interface Kind extends Known, Pick<AuditEvent, 'name' | 'method' | 'revision'> {}

type Place = Pick<AuditEvent, 'method' | 'publicName' | 'server' | 'target'>;

interface End extends Known, Pick<AuditEvent, 'outcome' | 'rule' | 'policy'> {}

interface KnownCaller extends Known, Omit<Who, 'address'> {
  readonly endpoint: EndpointName | undefined;
}

export class RecordForm {
  readonly #options: RecordOptions;
  readonly #recorders: ReadonlyMap<RecordingRule, Recorders>;
  /** Rules by server and tool. */
  readonly #rules = new Map<string, Recorders | undefined>();
  /** The last time, and the beginning of a record of it. */
  #at = NaN;
  #time: Uint8Array = new Uint8Array();
  /** The last kind of event: records that follow each other are often of one. */
  #kind: Kind | undefined;
  /** How the last event ended, and by which rule. */
  #end: End | undefined;
  /** By the tool's name for clients. */
  readonly #places = new Map<string, Place & Known>();
  /** By the caller's principal, without addresses, of which one caller may have many. */
  readonly #callers = new Map<string, KnownCaller>();
  /** Where members are written that are remembered, and arguments of which the digest is. */
  readonly #made = new Members();

  constructor(options: RecordOptions) {
    this.#options = options;
    const { rules, key } = options;
    this.#recorders = new Map(
      rules.map((rule) => [
        rule,
        { args: new Recorder(rule.arguments, key), results: new Recorder(rule.results, key) },
      ]),
    );
  }

  /** Writes a record's opening brace and its members. @param at milliseconds since 1970. */
  write(members: Members, event: AuditEvent, at: number): void {
    const {
      who,
      session,
      trace,
      id,
      server,
      target,
      uri,
      args,
      result,
      outcome,
      reason,
      code,
      durationMs,
      responseBytes,
      more,
    } = event;
    members.bytes(at === this.#at ? this.#time : this.#timeOf(at));
    members.bytes(this.#kindOf(event));
    members.text(heads.session, session, maxText);
    if (uri !== undefined) members.text(heads.uri, cutUri(uri), maxUri);
    this.#place(members, event);
    if (typeof id === 'number') members.safe(heads.id, String(id));
    else if (id !== undefined && id !== null) members.text(heads.id, isRawNumber(id) ? id.rawJSON : id, maxText);
    members.text(heads.error, outcome === 'tool_error' ? outcome : reason, maxText);
    members.number(heads.code, code);
    if (trace !== undefined) {
      const [, traceId, spanId] = trace.split('-');
      members.text(heads.trace, traceId, maxText);
      members.text(heads.span, spanId, maxText);
    }
    members.text(heads.address, who?.address, maxText);
    members.bytes(this.#callerOf(event));
    members.bytes(this.#endOf(event));
    members.tenths(heads.duration, durationMs);
    this.#values(members, server, target, args, result);
    members.number(heads.responseBytes, responseBytes);
    if (more !== undefined)
      for (const [each, value] of Object.entries(more))
        if (value !== undefined) members.raw(headOf(`omnibus.${each}`), JSON.stringify(value));
  }

  /** Records of a batch often have the same millisecond. */
  #timeOf(at: number): Uint8Array {
    this.#at = at;
    this.#time = Buffer.from(`{"time":"${new Date(at).toISOString()}"`);
    return this.#time;
  }

  #kindOf({ name, method, revision }: AuditEvent): Uint8Array {
    const known = this.#kind;
    if (known !== undefined && known.name === name && known.method === method && known.revision === revision)
      return known.members;
    const made = this.#made;
    made.clear();
    made.text(heads.event, name, maxText);
    made.text(heads.method, method, maxText);
    made.text(heads.revision, revision, maxText);
    this.#kind = { name, method, revision, members: made.copy() };
    return this.#kind.members;
  }

  #endOf({ outcome, rule, policy }: AuditEvent): Uint8Array {
    const known = this.#end;
    if (known !== undefined && known.outcome === outcome && known.rule === rule && known.policy === policy)
      return known.members;
    const made = this.#made;
    made.clear();
    made.text(heads.outcome, outcome, maxText);
    made.text(heads.rule, rule, maxText);
    made.text(heads.policy, policy, maxText);
    this.#end = { outcome, rule, policy, members: made.copy() };
    return this.#end.members;
  }

  /** Writes the target of the request, and its server. Targets of servers are cached, and names that clients invent are not. */
  #place(members: Members, event: AuditEvent): void {
    const { method, publicName, server, target } = event;
    if (publicName === undefined || server === undefined || target === undefined) return placed(members, event);
    const known = this.#places.get(publicName);
    if (known !== undefined && known.server === server && known.target === target && known.method === method)
      return members.bytes(known.members);
    const made = this.#made;
    made.clear();
    placed(made, event);
    if (this.#places.size >= maxKnown) this.#places.clear();
    this.#places.set(publicName, { method, publicName, server, target, members: made.copy() });
    members.bytes(made.written());
  }

  #callerOf({ who = {}, endpoint }: AuditEvent): Uint8Array {
    const known = this.#callers.get(who.principal ?? '');
    if (known !== undefined && known.endpoint === endpoint && isSame(known, who)) return known.members;
    const { principal, subject, issuer, actors, tenant, client, key } = who;
    const made = this.#made;
    made.clear();
    made.text(heads.instance, this.#options.instance, maxText);
    made.text(heads.principal, principal, maxText);
    const isNamed = this.#options.who === 'names';
    if (isNamed) {
      made.text(heads.subject, subject, maxText);
      made.text(heads.issuer, issuer, maxText);
    }
    if (actors !== undefined && actors.length > 0)
      made.raw(
        heads.actors,
        JSON.stringify(
          actors.map((actor) =>
            isNamed
              ? `${actor.issuer}|${actor.subject}`
              : `a_${sha256(canonical([actor.issuer, actor.subject])).slice(0, 32)}`,
          ),
        ),
      );
    made.text(heads.tenant, tenant, maxText);
    made.text(heads.client, client, maxText);
    made.text(heads.key, key, maxText);
    made.text(
      heads.endpoint,
      endpoint === undefined ? undefined : `/mcp${endpoint === '' ? '' : `/${endpoint}`}`,
      maxText,
    );
    if (this.#callers.size >= maxKnown) this.#callers.clear();
    const found = { principal, subject, issuer, actors, tenant, client, key, endpoint, members: made.copy() };
    this.#callers.set(principal ?? '', found);
    return found.members;
  }

  #values(
    members: Members,
    server: string | undefined,
    target: string | undefined,
    args: unknown,
    result: unknown,
  ): void {
    if (args !== undefined) {
      const made = this.#made;
      made.clear();
      made.canonical(args);
      members.safe(heads.argumentsDigest, sha256(made.written()));
      members.number(heads.requestBytes, made.length);
    }
    if (this.#recorders.size === 0 || server === undefined || target === undefined) return;
    const recorders = this.#recordersFor(`${server}/${target}`);
    const recorded = args === undefined ? undefined : recorders?.args.textOf(args);
    const answered = result === undefined ? undefined : recorders?.results.textOf(result);
    if (recorded !== undefined) members.raw(heads.args, recorded);
    if (answered !== undefined) members.raw(heads.result, answered);
  }

  #recordersFor(name: string): Recorders | undefined {
    if (this.#rules.has(name)) return this.#rules.get(name);
    const rule = ruleFor(this.#options.rules, name);
    const found = rule === undefined ? undefined : this.#recorders.get(rule);
    if (this.#rules.size >= maxKnown) this.#rules.clear();
    this.#rules.set(name, found);
    return found;
  }
}

/** The members in the order in which they are written, made once since making them again takes as long as writing a record. */
const heads = {
  event: headOf('event.name'),
  method: headOf('mcp.method.name'),
  revision: headOf('mcp.protocol.version'),
  session: headOf('mcp.session.id'),
  uri: headOf('mcp.resource.uri'),
  prompt: headOf('gen_ai.prompt.name'),
  tool: headOf('gen_ai.tool.name'),
  id: headOf('jsonrpc.request.id'),
  error: headOf('error.type'),
  code: headOf('rpc.response.status_code'),
  address: headOf('client.address'),
  trace: headOf('trace_id'),
  span: headOf('span_id'),
  instance: headOf('service.instance.id'),
  principal: headOf('omnibus.principal'),
  subject: headOf('user.id'),
  issuer: headOf('omnibus.issuer'),
  actors: headOf('omnibus.actors'),
  tenant: headOf('omnibus.tenant'),
  client: headOf('omnibus.client'),
  key: headOf('omnibus.key'),
  endpoint: headOf('omnibus.endpoint'),
  server: headOf('omnibus.server'),
  target: headOf('omnibus.tool'),
  outcome: headOf('omnibus.outcome'),
  rule: headOf('omnibus.rule'),
  policy: headOf('omnibus.policy'),
  duration: headOf('omnibus.duration_ms'),
  argumentsDigest: headOf('omnibus.arguments_digest', 'sha256:'),
  requestBytes: headOf('omnibus.request_bytes'),
  args: headOf('omnibus.arguments'),
  result: headOf('omnibus.result'),
  responseBytes: headOf('omnibus.response_bytes'),
} as const;

const operation = Buffer.from(',"gen_ai.operation.name":"execute_tool"');

function placed(members: Members, { method, publicName, server, target }: Place): void {
  if (method === 'tools/call') members.bytes(operation);
  members.text(method === 'prompts/get' ? heads.prompt : heads.tool, publicName, maxText);
  members.text(heads.server, server, maxText);
  members.text(heads.target, target, maxText);
}

/** Whether members that were written for a caller are those of another event. */
function isSame(known: KnownCaller, { principal, subject, issuer, actors, tenant, client, key }: Who): boolean {
  return (
    known.key === key &&
    known.client === client &&
    known.subject === subject &&
    known.issuer === issuer &&
    known.tenant === tenant &&
    known.actors === actors &&
    known.principal === principal
  );
}
