/**
 * The members of a record. Names are those of OpenTelemetry where it has one (semantic conventions, gen-ai/mcp), others begin with `omnibus.`. Every record
 * is one line of JSON with a fixed order of members.
 */
import { canonical, isRawNumber } from '@omnibus/protocol';
import { sha256 } from './sha256.ts';
import type { AuditEvent } from './event.ts';
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

/** Bound on the characters of a name or text that others chose. */
const maxName = 256;
/** Bound on tools whose rule is remembered. */
const maxKnown = 10_000;

export class RecordForm {
  readonly #options: RecordOptions;
  readonly #recorders: ReadonlyMap<RecordingRule, Recorders>;
  /** Rules by server and tool. */
  readonly #known = new Map<string, Recorders | undefined>();

  constructor(options: RecordOptions) {
    this.#options = options;
    const { rules, key } = options;
    this.#recorders = new Map(rules.map((rule) => [rule, { args: new Recorder(rule.arguments, key), results: new Recorder(rule.results, key) }]));
  }

  /** The members of a record as JSON, without braces. @param at milliseconds since 1970. */
  membersOf(event: AuditEvent, at: number): string {
    const { name, who = {}, endpoint, session, trace, method, revision, id, server, target, publicName, uri, args, result, outcome, reason, code, rule, policy, durationMs, responseBytes, more } = event;
    const members = new Members();
    members.text('time', new Date(at).toISOString());
    members.text('event.name', name);
    members.text('mcp.method.name', method);
    members.text('mcp.protocol.version', revision);
    members.text('mcp.session.id', session);
    if (uri !== undefined) members.text('mcp.resource.uri', cutUri(uri));
    if (method === 'tools/call') members.text('gen_ai.operation.name', 'execute_tool');
    members.text(method === 'prompts/get' ? 'gen_ai.prompt.name' : 'gen_ai.tool.name', publicName);
    if (id !== undefined && id !== null) members.text('jsonrpc.request.id', isRawNumber(id) ? id.rawJSON : String(id));
    members.text('error.type', outcome === 'tool_error' ? outcome : reason);
    members.number('rpc.response.status_code', code);
    members.text('client.address', who.address);
    const [, traceId, spanId] = trace?.split('-') ?? [];
    members.text('trace_id', traceId);
    members.text('span_id', spanId);
    members.text('service.instance.id', this.#options.instance);
    this.#who(members, event);
    members.text('omnibus.endpoint', endpoint === undefined ? undefined : `/mcp${endpoint === '' ? '' : `/${endpoint}`}`);
    members.text('omnibus.server', server);
    members.text('omnibus.tool', target);
    members.text('omnibus.outcome', outcome);
    members.text('omnibus.rule', rule);
    members.text('omnibus.policy', policy);
    members.number('omnibus.duration_ms', durationMs === undefined ? undefined : Math.round(durationMs * 10) / 10);
    this.#values(members, server, target, args, result);
    members.number('omnibus.response_bytes', responseBytes);
    for (const [each, value] of Object.entries(more ?? {})) if (value !== undefined) members.raw(`omnibus.${each}`, JSON.stringify(value));
    return members.json;
  }

  #who(members: Members, { who = {} }: AuditEvent): void {
    members.text('omnibus.principal', who.principal);
    if (this.#options.who === 'names') {
      members.text('user.id', who.subject);
      members.text('omnibus.issuer', who.issuer);
      if (who.actors !== undefined && who.actors.length > 0) members.raw('omnibus.actors', JSON.stringify(who.actors.map(({ issuer, subject }) => `${issuer}|${subject}`)));
    } else if (who.actors !== undefined && who.actors.length > 0) {
      members.raw('omnibus.actors', JSON.stringify(who.actors.map(({ issuer, subject }) => `a_${sha256(canonical([issuer, subject])).slice(0, 32)}`)));
    }
    members.text('omnibus.tenant', who.tenant);
    members.text('omnibus.client', who.client);
    members.text('omnibus.key', who.key);
  }

  #values(members: Members, server: string | undefined, target: string | undefined, args: unknown, result: unknown): void {
    if (args !== undefined) {
      const text = canonical(args);
      members.text('omnibus.arguments_digest', `sha256:${sha256(text)}`);
      members.number('omnibus.request_bytes', Buffer.byteLength(text));
    }
    if (this.#recorders.size === 0 || server === undefined || target === undefined) return;
    const recorders = this.#recordersFor(`${server}/${target}`);
    const recorded = args === undefined ? undefined : recorders?.args.textOf(args);
    const answered = result === undefined ? undefined : recorders?.results.textOf(result);
    if (recorded !== undefined) members.raw('omnibus.arguments', recorded);
    if (answered !== undefined) members.raw('omnibus.result', answered);
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

/** Texts that need no escaping in JSON. */
const plain = /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/;

function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Writes the members of an object, in the order in which they are added. */
class Members {
  json = '';

  raw(name: string, json: string): void {
    this.json += `${this.json === '' ? '' : ','}"${name}":${json}`;
  }

  text(name: string, value: string | undefined): void {
    if (value !== undefined && value !== '') this.raw(name, quoted(value.length > maxName && name !== 'mcp.resource.uri' ? `${value.slice(0, maxName)}…` : value));
  }

  number(name: string, value: number | undefined): void {
    if (value !== undefined) this.raw(name, String(value));
  }
}
