/** Answers reads of stored results: `resources/read` of their URIs, and the tool `read_result`. */
import { resultBound, resultReader, resultScheme } from '@omnibus/catalog';
import {
  errorResult,
  fault,
  isObject,
  type GatewayFault,
  type JsonObject,
  type ServerName,
  type SourceTool,
  type StoredResult,
} from '@omnibus/protocol';
import type { Metrics } from '@omnibus/telemetry';
import type { Barrier } from '../../call/barrier.ts';
import type { CallFollower, CallStream, ForwardedCall } from '../../call/client-port.ts';
import type { Gate, GateRun } from '../../call/gates.ts';
import { mayHaveResult } from '../../call/may-have-result.ts';
import { WaitingRequest } from '../../call/open-requests.ts';
import type { ServedClient } from '../../call/transforms.ts';
import { requestedBy } from '../../call/public-messages.ts';
import type { ResultGate } from '../../call/result-gate.ts';
import type { JsonBounds } from './bounded.ts';
import { ownerOf } from './owner.ts';
import { readStored, wishOf, type Problem, type Reading, type Wish } from './read.ts';

/** Characters around what `read_result` answers. */
const aroundCharacters = 300;

export interface ReadingParts {
  /** Opens a sealed id. @returns the id in the store; undefined for an id that is not one of this owner. */
  open(owner: string, sealed: string): string | undefined;
  find(owner: string, id: string): Promise<StoredResult | undefined>;
  readonly limits: JsonBounds;
  readonly barrier: Barrier;
  /** Limits on the bytes of results: a read counts, as a fetch of a task's result does. Its call was counted with the preview alone. */
  readonly counts: ResultGate | undefined;
  /** Labels the conversation before a result is read. @returns false if that could not be recorded. */
  readonly labelled: (client: ServedClient, server: ServerName, tool: string) => Promise<boolean>;
  readonly metrics: Pick<Metrics, 'results'>;
}

type Outcome = 'read' | 'unknown' | 'invalid' | 'limited' | 'failed';

interface Found {
  readonly stored: StoredResult | undefined;
  readonly counted: CallFollower | GatewayFault | undefined;
}

export function resultGate(parts: ReadingParts): Gate {
  return {
    takes({ call }, run) {
      if (call.view.definition.results === undefined) return false;
      const wished = wishIn(call);
      if (wished === undefined) return false;
      new Read(parts, call, run, wished).begin();
      return true;
    },
  };
}

/** What a request wants of a stored result; undefined if it is about anything else. */
function wishIn({ method, given }: Pick<ForwardedCall<CallStream>, 'method' | 'given'>): Wish | Problem | undefined {
  if (method === 'resources/read') return wishOf(given['uri']);
  if (method !== 'tools/call' || given['name'] !== resultReader.name) return undefined;
  const args = isObject(given['arguments']) ? given['arguments'] : {};
  return (
    wishOf(args['uri'], args) ?? { problem: `${resultReader.name} needs "uri", which begins with ${resultScheme}` }
  );
}

class Read<Stream extends CallStream> {
  readonly #parts: ReadingParts;
  readonly #call: ForwardedCall<Stream>;
  readonly #run: GateRun<Stream>;
  readonly #wished: Wish | Problem;

  constructor(parts: ReadingParts, call: ForwardedCall<Stream>, run: GateRun<Stream>, wished: Wish | Problem) {
    this.#parts = parts;
    this.#call = call;
    this.#run = run;
    this.#wished = wished;
  }

  begin(): void {
    const wished = this.#wished;
    if ('problem' in wished) {
      this.#refuse('invalid', wished.problem);
      return;
    }
    const { open, messages, port } = this.#run;
    const owner = ownerOf(port);
    const id = this.#parts.open(owner, wished.id);
    if (id === undefined) {
      this.#refuse('unknown', unknownWords);
      return;
    }
    const { stream } = this.#call;
    const waiting = new WaitingRequest(
      this.#call,
      () => stream.leaveUnanswered(),
      (gatewayFault) => messages.answerFault(stream, this.#call.id, gatewayFault),
    );
    open.add(waiting);
    void this.#found(owner, id).then(
      ({ stored, counted }) =>
        open.resume(
          waiting,
          () => this.#answer(wished, stored, counted),
          () => (counted !== undefined && 'answered' in counted ? counted.cancelled() : undefined),
        ),
      (error: unknown) =>
        open.resume(waiting, () => this.#refuse('failed', `it could not be read: ${String(error)}; try again`)),
    );
  }

  async #found(owner: string, id: string): Promise<Found> {
    const stored = await this.#parts.find(owner, id);
    if (stored === undefined || !this.#mayRead(stored)) return { stored: undefined, counted: undefined };
    const { server, tool } = stored;
    for (const from of sourcesOf(stored))
      if (!(await this.#parts.labelled(this.#run.port, from.server, from.tool)))
        throw new Error('the labels of the conversation cannot be recorded now');
    return { stored, counted: await this.#parts.counts?.begin(this.#run.port.asking, server, tool) };
  }

  /** @param counted hears how much is read; a fault if the limits allow no more. */
  #answer(wished: Wish, stored: StoredResult | undefined, counted: Found['counted']): void {
    if (counted !== undefined && 'reason' in counted) {
      this.#parts.metrics.results.reads.inc({ outcome: 'limited' });
      this.#run.messages.deny(this.#call, counted);
      return;
    }
    if (counted !== undefined) this.#call.followers = [...(this.#call.followers ?? []), counted];
    if (stored === undefined || !this.#mayRead(stored)) {
      this.#refuse('unknown', unknownWords);
      return;
    }
    const isTool = this.#call.method === 'tools/call';
    const room = isTool ? 4 * this.#bound(stored) - aroundCharacters : undefined;
    const readings = readStored(stored, wished, this.#parts.limits, room);
    if ('problem' in readings) {
      this.#refuse('invalid', readings.problem);
      return;
    }
    this.#parts.metrics.results.reads.inc({ outcome: 'read' });
    const { port, messages, watchers } = this.#run;
    messages.answerOwn(this.#call, isTool ? asTool(readings) : asResource(this.#call.given, readings));
    watchers.noted(port, requestedBy(this.#call), {
      name: 'mcp.read',
      server: stored.server,
      target: stored.tool,
      outcome: 'ok',
      more: {
        storedResult: readings
          .map(({ about }) => about)
          .join('; ')
          .slice(0, 300),
      },
    });
  }

  /** Most tokens of one read with the tool: those of the call that the result is from. */
  #bound({ server, tool }: StoredResult): number {
    const { results } = this.#call.view.definition;
    const bound = results === undefined ? undefined : resultBound(results, server, tool, this.#run.port.info?.name);
    return bound ?? results?.maxTokens ?? usualTokens;
  }

  #mayRead(stored: StoredResult): boolean {
    const reader = { view: this.#call.view, facts: this.#run.port.facts, barrier: this.#parts.barrier };
    return sourcesOf(stored).every((source) => mayHaveResult(reader, source));
  }

  #refuse(outcome: Exclude<Outcome, 'read' | 'limited'>, problem: string): void {
    this.#parts.metrics.results.reads.inc({ outcome });
    const { messages } = this.#run;
    if (this.#call.method === 'tools/call') messages.answerOwn(this.#call, errorResult(`${problem}.`));
    else
      messages.deny(
        this.#call,
        fault(
          outcome === 'invalid' ? 'params.invalid' : outcome === 'unknown' ? 'resource.unknown' : 'internal.error',
          problem,
        ),
      );
  }
}

/** The same for an id that is unknown, has expired, and belongs to another caller. */
const unknownWords = 'there is no such stored result: it has expired, or never was; call the tool again';
/** Of a read where only single tools have a bound. */
const usualTokens = 1_000;

/** The tools of servers whose results it may contain. */
function sourcesOf(stored: StoredResult): readonly SourceTool[] {
  return stored.from ?? [stored];
}

function asTool(readings: readonly Reading[]): JsonObject {
  const [reading] = readings;
  if (reading === undefined) return { content: [] };
  const { kind, data, mimeType = 'application/octet-stream', about } = reading;
  return {
    content: [
      { type: 'text', text: data },
      { type: 'text', text: `[${kind === 'blob' ? `${mimeType} as base64, ` : ''}${about}]` },
    ],
  };
}

function asResource({ uri }: JsonObject, readings: readonly Reading[]): JsonObject {
  return {
    contents: readings.map(({ kind, data, mimeType, about }, at) => ({
      uri: readings.length > 1 ? `${String(uri)}?part=${at + 1}` : uri,
      ...(mimeType === undefined ? {} : { mimeType }),
      [kind]: data,
      _meta: { 'dev.omnibus/range': about },
    })),
  };
}
