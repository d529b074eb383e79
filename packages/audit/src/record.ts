/**
 * The members of a record. Names are those of OpenTelemetry where it has one (semantic conventions, gen-ai/mcp), others begin with `omnibus.`. Every record
 * is one line of JSON with a fixed order of members.
 */
import { canonical, isRawNumber } from '@omnibus/protocol';
import { sha256 } from './sha256.ts';
import type { AuditEvent, Who } from './event.ts';
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
/** Bound on tools whose rule is remembered. */
const maxKnown = 10_000;

export class RecordForm {
  readonly #options: RecordOptions;
  readonly #recorders: ReadonlyMap<RecordingRule, Recorders>;
  /** Rules by server and tool. */
  readonly #known = new Map<string, Recorders | undefined>();
  /** The last time, and its member. */
  #at = NaN;
  #timeMember = '';

  constructor(options: RecordOptions) {
    this.#options = options;
    const { rules, key } = options;
    this.#recorders = new Map(rules.map((rule) => [rule, { args: new Recorder(rule.arguments, key), results: new Recorder(rule.results, key) }]));
  }

  /** The members of a record as JSON, without braces. @param at milliseconds since 1970. */
  membersOf(event: AuditEvent, at: number): string {
    const { name, who = {}, endpoint, session, trace, method, revision, id, server, target, publicName, uri, args, result, outcome, reason, code, rule, policy, durationMs, responseBytes, more } = event;
    const members = new Members(this.#time(at));
    members.text(heads.event, name);
    members.text(heads.method, method);
    members.text(heads.revision, revision);
    members.text(heads.session, session);
    if (uri !== undefined) members.text(heads.uri, cutUri(uri), maxUri);
    if (method === 'tools/call') members.text(heads.operation, 'execute_tool');
    members.text(method === 'prompts/get' ? heads.prompt : heads.tool, publicName);
    if (id !== undefined && id !== null) members.text(heads.id, isRawNumber(id) ? id.rawJSON : String(id));
    members.text(heads.error, outcome === 'tool_error' ? outcome : reason);
    members.number(heads.code, code);
    members.text(heads.address, who.address);
    if (trace !== undefined) {
      const [, traceId, spanId] = trace.split('-');
      members.text(heads.trace, traceId);
      members.text(heads.span, spanId);
    }
    members.text(heads.instance, this.#options.instance);
    this.#who(members, who);
    members.text(heads.endpoint, endpoint === undefined ? undefined : `/mcp${endpoint === '' ? '' : `/${endpoint}`}`);
    members.text(heads.server, server);
    members.text(heads.target, target);
    members.text(heads.outcome, outcome);
    members.text(heads.rule, rule);
    members.text(heads.policy, policy);
    members.number(heads.duration, durationMs === undefined ? undefined : Math.round(durationMs * 10) / 10);
    this.#values(members, server, target, args, result);
    members.number(heads.responseBytes, responseBytes);
    if (more !== undefined) for (const [each, value] of Object.entries(more)) if (value !== undefined) members.raw(headOf(`omnibus.${each}`), JSON.stringify(value));
    return members.json;
  }

  /** Records of a batch often have the same millisecond. */
  #time(at: number): string {
    if (at !== this.#at) {
      this.#at = at;
      this.#timeMember = `"time":"${new Date(at).toISOString()}"`;
    }
    return this.#timeMember;
  }

  #who(members: Members, { principal, subject, issuer, actors, tenant, client, key }: Who): void {
    members.text(heads.principal, principal);
    const isNamed = this.#options.who === 'names';
    if (isNamed) {
      members.text(heads.subject, subject);
      members.text(heads.issuer, issuer);
    }
    if (actors !== undefined && actors.length > 0) members.raw(heads.actors, JSON.stringify(actors.map((actor) => (isNamed ? `${actor.issuer}|${actor.subject}` : `a_${sha256(canonical([actor.issuer, actor.subject])).slice(0, 32)}`))));
    members.text(heads.tenant, tenant);
    members.text(heads.client, client);
    members.text(heads.key, key);
  }

  #values(members: Members, server: string | undefined, target: string | undefined, args: unknown, result: unknown): void {
    if (args !== undefined) {
      const text = canonical(args);
      members.text(heads.argumentsDigest, `sha256:${sha256(text)}`);
      members.number(heads.requestBytes, Buffer.byteLength(text));
    }
    if (this.#recorders.size === 0 || server === undefined || target === undefined) return;
    const recorders = this.#recordersFor(`${server}/${target}`);
    const recorded = args === undefined ? undefined : recorders?.args.textOf(args);
    const answered = result === undefined ? undefined : recorders?.results.textOf(result);
    if (recorded !== undefined) members.raw(heads.args, recorded);
    if (answered !== undefined) members.raw(heads.result, answered);
  }

  #recordersFor(name: string): Recorders | undefined {
    if (this.#known.has(name)) return this.#known.get(name);
    const rule = ruleFor(this.#options.rules, name);
    const found = rule === undefined ? undefined : this.#recorders.get(rule);
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.set(name, found);
    return found;
  }
}

/** What stands before the value of a member that is not the first. */
function headOf(name: string): string {
  return `,"${name}":`;
}

/** The members in the order in which they are written, made once since making them again takes as long as writing a record. */
const heads = {
  event: headOf('event.name'),
  method: headOf('mcp.method.name'),
  revision: headOf('mcp.protocol.version'),
  session: headOf('mcp.session.id'),
  uri: headOf('mcp.resource.uri'),
  operation: headOf('gen_ai.operation.name'),
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
  argumentsDigest: headOf('omnibus.arguments_digest'),
  requestBytes: headOf('omnibus.request_bytes'),
  args: headOf('omnibus.arguments'),
  result: headOf('omnibus.result'),
  responseBytes: headOf('omnibus.response_bytes'),
} as const;

/** Texts that need no escaping in JSON. */
const plain = /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/;

/** Writes the members of an object, in the order in which they are added. */
class Members {
  json: string;

  /** @param first the first member as JSON. */
  constructor(first: string) {
    this.json = first;
  }

  raw(head: string, json: string): void {
    this.json += head + json;
  }

  /** @param most characters that are written; more are cut off. */
  text(head: string, value: string | undefined, most = maxText): void {
    if (value === undefined || value === '') return;
    const text = value.length > most ? `${value.slice(0, most)}…` : value;
    this.json += plain.test(text) ? `${head}"${text}"` : head + JSON.stringify(text);
  }

  number(head: string, value: number | undefined): void {
    if (value !== undefined) this.json += head + String(value);
  }
}
