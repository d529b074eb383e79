/** One call of a session to a server, from its arrival until its final event. */
import { Link } from '@omnibus/collections';
import type { Deadline, Place } from '@omnibus/lifecycle';
import type {
  CallCommand,
  ExchangeEvent,
  ExchangeId,
  ExchangeOutcome,
  InputAnswer,
  JsonObject,
  SessionKey,
} from '@omnibus/protocol';
import type { CallResult, Span } from '@omnibus/telemetry';
import type { CatalogPublisher } from '../catalog/publisher.ts';
import { rootsKey } from '../connection/questions.ts';
import type { Attempt } from './attempt.ts';
import type { CallWords } from './call-words.ts';
import type { AskedCall } from './question-relay.ts';

export class Call extends Link implements AskedCall {
  readonly command: CallCommand;
  readonly reply: (event: ExchangeEvent) => void;
  readonly arrivedAt = performance.now();
  readonly limit: Deadline;
  /** Undefined where tracing is off. */
  readonly span: Span | undefined;
  /** Undefined if the call was refused a place. */
  place: Place | undefined;
  /** The latest attempt; undefined until the first. */
  running: Attempt | undefined;
  /** The roots of its client, where they had to be asked for. */
  roots: InputAnswer | undefined;
  /** The tag under which it is watched; undefined while nobody watches it. */
  tag: string | undefined;
  /** When its progress was last reported to whoever watches, by `performance.now()`. */
  toldAt = -Infinity;
  /** Undefined while its server has said nothing. */
  words: CallWords | undefined;

  constructor(command: CallCommand, reply: (event: ExchangeEvent) => void, limit: Deadline, span: Span | undefined) {
    super();
    this.span = span;
    this.tag = command.context.tap;
    this.command = command;
    this.reply = reply;
    this.limit = limit;
  }

  get exchange(): ExchangeId {
    return this.command.exchange;
  }

  get session(): SessionKey {
    return this.command.context.session;
  }

  /** The roots of its client, as `rootsKey` gives them. */
  get rootsKey(): string | undefined {
    const { roots } = this;
    return roots === undefined ? undefined : 'result' in roots ? rootsKey(roots.result) : 'not said';
  }
}

export function resultOf(outcome: ExchangeOutcome): CallResult {
  return outcome.kind === 'result' && outcome.result['isError'] === true ? 'tool_error' : outcome.kind;
}

/** The name of the called tool in metrics; undefined if its server does not list it. */
export function listedToolOf(
  { method, params: { name }, context: { principal } }: CallCommand,
  catalog: Pick<CatalogPublisher, 'tool'>,
): string | undefined {
  return method === 'tools/call' && typeof name === 'string' && catalog.tool(name, principal) !== undefined
    ? name
    : undefined;
}

/** Parameters with the trace context for the server (semantic conventions, MCP: context travels in `params._meta`). */
export function tracedParams(params: JsonObject, span: Span | undefined): JsonObject {
  return span === undefined
    ? params
    : { ...params, _meta: { ...(params['_meta'] as JsonObject | undefined), traceparent: span.traceparent } };
}
