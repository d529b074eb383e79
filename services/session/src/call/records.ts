/**
 * What is put on record of requests of clients: each exchange when it ends, however it ends, each list, each refusal, and each question of a
 * server with what became of it. Made only where there is an audit; nobody waits for it, but a call that `strict` holds back.
 */
import type { Audit, AuditEvent, Outcome, Weight, Who } from '@omnibus/audit';
import { definitionDigest, type View } from '@omnibus/catalog';
import { Proofs } from '@omnibus/identity';
import {
  errorTable, isObject, listKindOf, repeatableMethods,
  type Caller, type ErrorReason, type ExchangeOutcome, type GatewayFault, type InputAnswer, type InputKey, type JsonObject, type JsonRpcId, type ServerName, type SessionKey,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Permission } from './access.ts';
import type { ApprovalNote } from './approvals/approvals.ts';
import type { Destination } from './route.ts';

/** Whose request it is. */
export interface Requester {
  readonly key: SessionKey;
  /** As the latest request said. */
  readonly asking: Caller;
  readonly standsAlone: boolean;
  readonly dialect: { readonly revision: string };
}

/** A request as its client sent it. */
export interface Requested {
  readonly id: JsonRpcId;
  readonly method: string;
  readonly params: JsonObject;
  readonly trace: string | undefined;
  /** What rules say of it, where there are any. */
  readonly permission?: Pick<Permission, 'rule' | 'policy'> | undefined;
}

/** One that is on its way to a server. */
export interface Begun {
  readonly event: AuditEvent;
  readonly at: number;
  readonly since: number;
}

/** Where requests are put on record, and by what it is known whose they are. */
export interface Recorded {
  /** Undefined where nothing is put on record. */
  readonly audit?: Audit | undefined;
}

/** Whether what a server says of itself is held to what was approved. */
type IsPinned = (server: ServerName) => boolean;

/** @returns undefined where nothing is put on record. */
export function callRecords({ audit, proofs, metrics, isPinned }: Recorded & { readonly proofs?: Proofs | undefined; readonly metrics: Metrics; readonly isPinned: IsPinned }): CallRecords | undefined {
  return audit === undefined ? undefined : new CallRecords({ audit, isPinned, whoOf: (caller) => whoOf(caller, proofs), unsafe: () => metrics.audit.refusals.inc() });
}

interface CallRecordsOptions {
  readonly audit: Audit;
  readonly isPinned: IsPinned;
  readonly whoOf: (caller: Caller) => Who;
  /** A call was not sent since no record of it could be made safe. */
  readonly unsafe: () => void;
}

export class CallRecords {
  readonly #options: CallRecordsOptions;

  constructor(options: CallRecordsOptions) {
    this.#options = options;
  }

  /** A request was answered with an error of the gateway, and no server was asked. */
  refused(requester: Requester, requested: Requested, { reason, data }: GatewayFault): void {
    const { audit } = this.#options;
    if (!audit.wants('refusal')) return;
    audit.record({ ...this.#event(requester, requested), name: 'mcp.refused', weight: 'refusal', outcome: 'denied', reason, ...ruleOf(data) });
  }

  /** A list was answered from the catalogue. @param characters of the answer. */
  listed(requester: Requester, requested: Requested, characters: number): void {
    const { audit } = this.#options;
    if (audit.wants('read')) audit.record({ ...this.#event(requester, requested), name: 'mcp.list', weight: 'read', outcome: 'ok', responseBytes: characters });
  }

  /** A request that a server need not be asked about was answered in its place. */
  answered(requester: Requester, requested: Requested, server: ServerName): void {
    const { audit } = this.#options;
    if (audit.wants('read')) audit.record({ ...this.#event(requester, requested), name: 'mcp.call', weight: 'read', server, outcome: 'ok' });
  }

  /** A request is about to be sent to a server. @returns undefined where it is not recorded. */
  begin(requester: Requester, requested: Requested, view: View, { server, tool, task, params }: Destination): Begun | undefined {
    const { method, params: given } = requested;
    const weight = weightOf(method, given, view);
    // What a server refuses is an answer of the server.
    if (!this.#options.audit.wants(weight)) return undefined;
    const plain = this.#event(requester, requested);
    const entry = method === 'tools/call' && typeof given['name'] === 'string' && this.#options.isPinned(server) ? view.tool(given['name']) : undefined;
    const event: AuditEvent = {
      ...plain, ...(entry === undefined ? {} : { more: { ...plain.more, definition: digestOf(entry) } }), name: kindOf(method), weight, server,
      target: tool ?? (task?.tool || nameOf(params)), args: method === 'tools/call' ? (params['arguments'] ?? {}) : params['arguments'],
    };
    return { event, at: Date.now(), since: performance.now() };
  }

  /** Whether a request waits until its record is safe. */
  mustConfirm({ event: { weight } }: Begun): boolean {
    return this.#options.audit.isStrict && weight === 'write';
  }

  /** @returns false when the request is not to be sent. */
  async confirm({ event, at }: Begun): Promise<boolean> {
    const isSafe = await this.#options.audit.confirm({ ...event, at, outcome: 'started' });
    if (!isSafe) this.#options.unsafe();
    return isSafe;
  }

  /** @param characters of the answer to the client. */
  ended({ event, since }: Begun, outcome: ExchangeOutcome | 'cancelled', characters?: number): void {
    const ended = outcomeOf(outcome);
    const more = event.more === undefined ? ended.more : { ...event.more, ...ended.more };
    this.#options.audit.record({ ...event, durationMs: performance.now() - since, ...ended, more, ...(characters === undefined ? {} : { responseBytes: characters }) });
  }

  /** A call waits for an approval, or does not any more. */
  approval(requester: Requester, requested: Requested, { server, tool, args }: { readonly server: ServerName; readonly tool: string; readonly args: unknown }, { outcome, id, digest, by, decidedBy }: ApprovalNote): void {
    this.#options.audit.record({
      ...this.#event(requester, requested), name: `approval.${outcome}`, weight: 'always', server, target: tool, args: args ?? {}, outcome: approvalOutcomes[outcome],
      more: { approval: id, approval_digest: digest, approval_by: by, ...(decidedBy === undefined ? {} : { by: decidedBy }) },
    });
  }

  /** Questions of a server, during one call or outside of any. */
  questions(requester: Requester, server: ServerName, trace: string | undefined): QuestionRecords {
    return new QuestionRecords((method, outcome, since, more) => this.#options.audit.record({
      name: 'mcp.question', weight: 'always', who: this.#options.whoOf(requester.asking), endpoint: requester.asking.endpoint, session: requester.standsAlone ? undefined : requester.key, trace, method,
      revision: requester.dialect.revision, server, outcome, durationMs: performance.now() - since, more,
    }));
  }

  #event({ key, asking, standsAlone, dialect: { revision } }: Requester, { id, method, params, trace, permission }: Requested): Omit<AuditEvent, 'name' | 'weight'> {
    const { name, uri } = params;
    return {
      who: this.#options.whoOf(asking), endpoint: asking.endpoint, session: standsAlone ? undefined : key, trace, method: method.slice(0, 200), revision, id, rule: permission?.rule, policy: permission?.policy,
      publicName: typeof name === 'string' ? name : undefined, uri: typeof uri === 'string' ? uri : undefined, ...answersOf(params),
    };
  }
}

/** Of definitions as they stand in the catalogue, which are the same objects until it changes. */
const digests = new WeakMap<JsonObject, string>();

/** As `omnibus definitions` shows it. */
function digestOf(entry: JsonObject): string {
  const known = digests.get(entry) ?? definitionDigest(entry);
  digests.set(entry, known);
  return known;
}

interface OpenQuestion {
  readonly method: string;
  readonly since: number;
}

/** Never what is asked, nor what is answered. */
export class QuestionRecords {
  readonly #open = new Map<InputKey, OpenQuestion>();
  readonly #record: (method: string, outcome: Outcome, since: number, more: AuditEvent['more']) => void;

  constructor(record: (method: string, outcome: Outcome, since: number, more: AuditEvent['more']) => void) {
    this.#record = record;
  }

  asked(input: InputKey, method: string): void {
    if (!this.#open.has(input)) this.#open.set(input, { method, since: performance.now() });
  }

  answered(input: InputKey, answer: InputAnswer): void {
    const action = 'result' in answer ? answer.result['action'] : undefined;
    const isAction = action === 'accept' || action === 'decline' || action === 'cancel';
    this.#end(input, 'result' in answer ? 'ok' : 'fault', isAction ? { answer: action } : 'error' in answer ? { code: answer.error.code } : {});
  }

  withdrawn(input: InputKey): void {
    this.#end(input, 'cancelled', {});
  }

  /** Nobody waits for answers any more. */
  ended(): void {
    for (const input of this.#open.keys()) this.withdrawn(input);
  }

  #end(input: InputKey, outcome: Outcome, more: AuditEvent['more']): void {
    const open = this.#open.get(input);
    if (open === undefined) return;
    this.#open.delete(input);
    this.#record(open.method, outcome, open.since, more);
  }
}

/** By the last word of a method, which is the same for everything that is listed or read. */
function kindOf(method: string): 'mcp.list' | 'mcp.read' | 'mcp.call' {
  if (method.endsWith('/list')) return 'mcp.list';
  return method.endsWith('/read') ? 'mcp.read' : 'mcp.call';
}

/** Who asks, as an edge has found it out. */
function whoOf(caller: Caller, proofs: Proofs | undefined): Who {
  const { principal, address, origin } = caller;
  const { issuer, subject, tenant, actors, client, key } = Proofs.factsOf(caller, proofs) ?? {};
  return { principal, address: address ?? origin, issuer, subject, tenant, actors, client, key };
}

/** Calls of tools say themselves whether they only read. */
function weightOf(method: string, { name }: JsonObject, view: View): Weight {
  if (method !== 'tools/call') return listKindOf(method) !== undefined || repeatableMethods.has(method) ? 'read' : 'write';
  const annotations = typeof name === 'string' ? view.tool(name)?.['annotations'] : undefined;
  return isObject(annotations) && annotations['readOnlyHint'] === true ? 'read' : 'write';
}

function nameOf({ name }: JsonObject): string | undefined {
  return typeof name === 'string' ? name : undefined;
}

/** What it means for the call; undefined while nothing is decided. */
const approvalOutcomes: Readonly<Record<ApprovalNote['outcome'], Outcome | undefined>> = {
  asked: undefined, approved: 'ok', used: 'ok', refused: 'denied', expired: 'denied', impossible: 'denied', void: 'denied', withdrawn: 'cancelled',
};

/** How many answers of its user a request brings (2026-07-28 basic/patterns, Multi Round-Trip Requests). */
function answersOf({ inputResponses }: JsonObject): { readonly more?: AuditEvent['more'] } {
  return isObject(inputResponses) ? { more: { answers: Object.keys(inputResponses).length } } : {};
}

function outcomeOf(outcome: ExchangeOutcome | 'cancelled'): Partial<AuditEvent> {
  if (outcome === 'cancelled') return { outcome };
  switch (outcome.kind) {
    case 'result': {
      const { isError, resultType, inputRequests } = outcome.result;
      const asked = resultType === 'input_required' ? { more: { result_type: resultType, questions: questionsOf(inputRequests) } } : {};
      return { outcome: isError === true ? 'tool_error' : 'ok', result: outcome.result, ...asked };
    }
    case 'error':
      return { outcome: 'fault', code: outcome.error.code };
    case 'fault': {
      const { reason, data } = outcome.fault;
      return { outcome: isUnknown(reason) ? 'unknown' : 'fault', reason, ...ruleOf(data) };
    }
  }
}

function questionsOf(requests: unknown): readonly string[] {
  return isObject(requests) ? Object.values(requests).flatMap((each) => (isObject(each) && typeof each['method'] === 'string' ? [each['method'].slice(0, 100)] : [])).slice(0, 100) : [];
}

function isUnknown(reason: ErrorReason): boolean {
  return Object.hasOwn(errorTable, reason) && errorTable[reason].retry === 'unknown-outcome';
}

/** Which rule a decision rests on, where it does. */
function ruleOf(data: GatewayFault['data']): { readonly rule?: string } {
  const rule = data?.['rule'] ?? data?.['limit'];
  return typeof rule === 'string' ? { rule } : {};
}
