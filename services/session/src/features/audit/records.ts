/**
 * Audit records of requests of clients: of each exchange when it ends, each list, each refusal, and each question of a server with its outcome.
 * They exist only where an audit is configured. Calls do not wait for them, except those that `audit.strict` holds back until a record is safe.
 */
import type { Audit, AuditEvent, Weight, Who } from '@omnibus/audit';
import { entryDigest, type View } from '@omnibus/catalog';
import type { Config } from '@omnibus/config';
import { Proofs } from '@omnibus/identity';
import {
  isObject,
  listKindOf,
  repeatableMethods,
  type Caller,
  type GatewayFault,
  type JsonObject,
  type JsonRpcRequest,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { CallScreen } from '../../call/transform.ts';
import { QuestionRecords } from './question-records.ts';
import { RecordedCall, type OpenEvent } from './recorded-call.ts';
import type { Destination } from '../../call/plan.ts';
import { ruleOf } from './rule-of.ts';
import type { CallWatcher, Note, Requested, Requester, SentCall, SentFor, WatchedCall } from '../../call/watchers.ts';

export interface CallRecordsOptions {
  readonly audit: Audit;
  /** Verifies what edges say of callers; undefined in a gateway of one process. */
  readonly proofs: Proofs | undefined;
  /** Called when a call was not sent because no sink stored its record. */
  readonly unsafe: () => void;
}

/** The names of events, by the last word of the method; `mcp.call` for any other. */
const kinds: ReadonlyMap<string, AuditEvent['name']> = new Map([
  ['/list', 'mcp.list'],
  ['/read', 'mcp.read'],
]);

export class CallRecords implements CallWatcher {
  readonly #options: CallRecordsOptions;
  /** The configured servers: the definitions of some are compared with approved ones. */
  servers: Config['mcpServers'] = {};

  constructor(options: CallRecordsOptions) {
    this.#options = options;
  }

  refused(requester: Requester, requested: Requested, { reason, data }: GatewayFault): void {
    const { audit } = this.#options;
    if (!audit.wants('refusal')) return;
    audit.record({
      ...this.#event('mcp.refused', 'refusal', requester, requested),
      outcome: 'denied',
      reason,
      ...ruleOf(data),
      ...withMore(noted(requested.call?.screen), labelsIn(data)),
    });
  }

  turnedAway(session: SessionKey | undefined, sent: SentFor, { reason }: GatewayFault): void {
    const { audit, proofs } = this.#options;
    if (!audit.wants('refusal')) return;
    const { caller } = sent;
    const {
      id,
      method,
      params: { name, uri } = {},
    }: Partial<JsonRpcRequest> = sent.kind === 'open'
      ? sent.request
      : sent.kind === 'post' && sent.message.kind !== 'response'
        ? sent.message.message
        : {};
    audit.record({
      name: 'mcp.refused',
      weight: 'refusal',
      who: whoOf(caller, proofs),
      endpoint: caller.endpoint,
      session,
      method: method?.slice(0, 200),
      id,
      publicName: typeof name === 'string' ? name : undefined,
      uri: typeof uri === 'string' ? uri : undefined,
      outcome: 'denied',
      reason,
    });
  }

  listed(requester: Requester, requested: Requested, characters: number): void {
    const { audit } = this.#options;
    if (audit.wants('read'))
      audit.record({
        ...this.#event('mcp.list', 'read', requester, requested),
        outcome: 'ok',
        responseBytes: characters,
      });
  }

  sent({ client, call, to, since, trace }: SentCall): WatchedCall {
    const { id, method, given: params, permission } = call;
    const requested = { id, method, params, trace, permission, call };
    const event = this.#begun(client, requested, call.view, to);
    return new RecordedCall({
      options: this.#options,
      event,
      screen: call.screen,
      since,
      questions: () => this.questions(client, to.server, trace),
    });
  }

  /** @returns the record of a request that is about to be sent; undefined where the audit does not want it. */
  #begun(
    requester: Requester,
    requested: Requested,
    view: View,
    { server, tool, task, params }: Destination,
  ): OpenEvent | undefined {
    const { method, params: given } = requested;
    const called = method === 'tools/call' ? entryOf(view, given, server, tool) : undefined;
    const weight = weightOf(method, called);
    // A refusal by the server is recorded as its answer, not as a refusal of the gateway.
    if (!this.#options.audit.wants(weight)) return undefined;
    const event = this.#event(
      kinds.get(method.slice(method.lastIndexOf('/'))) ?? 'mcp.call',
      weight,
      requester,
      requested,
    );
    if (called !== undefined && this.servers[server]?.definitions === 'pin')
      event.more = { ...event.more, definition: entryDigest(called) };
    event.server = server;
    event.target = tool ?? (task?.tool || nameOf(params));
    event.args = method === 'tools/call' ? (params['arguments'] ?? {}) : params['arguments'];
    return event;
  }

  noted(requester: Requester, requested: Requested | undefined, note: Note): void {
    this.#options.audit.record({
      ...(requested === undefined
        ? {
            weight: 'always',
            who: whoOf(requester.asking, this.#options.proofs),
            endpoint: requester.asking.endpoint,
            session: requester.key,
            revision: requester.dialect.revision,
          }
        : this.#event(note.name, 'always', requester, requested)),
      ...note,
    });
  }

  /** Records for the questions of a server during one call, or outside of any. */
  questions(requester: Requester, server: ServerName, trace?: string): QuestionRecords {
    return new QuestionRecords((method, outcome, since, more) =>
      this.#options.audit.record({
        name: 'mcp.question',
        weight: 'always',
        who: whoOf(requester.asking, this.#options.proofs),
        endpoint: requester.asking.endpoint,
        session: requester.session,
        trace,
        method,
        revision: requester.dialect.revision,
        server,
        outcome,
        durationMs: performance.now() - since,
        more,
      }),
    );
  }

  /** An event with all members that one may get, so that those of all calls have one form. */
  #event(
    kind: AuditEvent['name'],
    weight: Weight,
    { asking, session, dialect: { revision } }: Requester,
    { id, method, params, trace, permission, call }: Requested,
  ): OpenEvent {
    const { name, uri, inputResponses } = params;
    return {
      name: kind,
      weight,
      who: whoOf(asking, this.#options.proofs),
      endpoint: asking.endpoint,
      session,
      trace,
      method: method.slice(0, 200),
      revision,
      id,
      server: undefined,
      target: undefined,
      publicName: typeof name === 'string' ? name : undefined,
      uri: typeof uri === 'string' ? uri : undefined,
      args: undefined,
      result: undefined,
      outcome: undefined,
      reason: undefined,
      code: undefined,
      rule: permission?.rule,
      policy: permission?.policy,
      durationMs: undefined,
      responseBytes: undefined,
      // The number of answers that a request brings (2026-07-28 basic/patterns, Multi Round-Trip Requests), or the run of the script that makes it.
      more: isObject(inputResponses)
        ? { answers: Object.keys(inputResponses).length }
        : call?.stream.run === undefined
          ? undefined
          : { run: call.stream.run },
    };
  }
}

/** The labels by which a request was refused, each with its source, and the conversation. */
function labelsIn(data: GatewayFault['data']): AuditEvent['more'] {
  const { labels, conversation } = data ?? {};
  if (!Array.isArray(labels)) return undefined;
  const words = labels.flatMap((each: unknown) =>
    isObject(each) ? [`${String(each['label'])} (${String(each['source'])})`] : [],
  );
  return { labels: words, ...(typeof conversation === 'string' ? { conversation } : {}) };
}

function withMore(
  given: { readonly more?: AuditEvent['more'] },
  more: AuditEvent['more'],
): { readonly more?: AuditEvent['more'] } {
  return more === undefined ? given : { more: { ...given.more, ...more } };
}

/** The decisions of guardrails about the messages of a request. */
function noted(screen: CallScreen | undefined): { readonly more?: AuditEvent['more'] } {
  const notes = screen?.notes ?? [];
  return notes.length === 0 ? {} : { more: { guardrails: [...notes] } };
}

/** The definition of the tool that is called. A page of an MCP App calls it by the server's own name, which no list of the client has. */
function entryOf(
  view: View,
  { name }: JsonObject,
  server: ServerName,
  tool: string | undefined,
): JsonObject | undefined {
  const listed = typeof name === 'string' ? view.tool(name) : undefined;
  return listed ?? (tool === undefined ? undefined : view.toolOf(server, tool));
}

/** Whether a request counts as reading or writing. A call of a tool is reading if the tool has the annotation `readOnlyHint`. */
function weightOf(method: string, called: JsonObject | undefined): Weight {
  if (method !== 'tools/call')
    return listKindOf(method) !== undefined || repeatableMethods.has(method) ? 'read' : 'write';
  const annotations = called?.['annotations'];
  return isObject(annotations) && annotations['readOnlyHint'] === true ? 'read' : 'write';
}

function nameOf({ name }: JsonObject): string | undefined {
  return typeof name === 'string' ? name : undefined;
}

/** The identity of the caller, as the edge has authenticated it. Facts of another, as in a forged command, do not identify the sender. */
export function whoOf(caller: Caller, proofs: Proofs | undefined): Who {
  const { principal, address, origin } = caller;
  const proven = Proofs.factsOf(caller, proofs);
  const facts = proven?.principal === principal ? proven : undefined;
  if (facts !== undefined && address === undefined && origin === undefined) return facts;
  const { issuer, subject, tenant, actors, client, key } = facts ?? {};
  return { principal, address: address ?? origin, issuer, subject, tenant, actors, client, key };
}
