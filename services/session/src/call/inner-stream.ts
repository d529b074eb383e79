/** Takes the messages and the answer of one call that a run makes. Messages go to the stream of the run's own request. */
import { isObject, type GatewayFault, type JsonObject, type JsonRpcId } from '@omnibus/protocol';
import type { CallStream } from './client-port.ts';

export type ServerAnswer = Parameters<NonNullable<CallStream['completed']>>[0];

/** An outcome of a call for its run. @param text the result as JSON, or the error as JSON: `message`, `reason`. */
export interface SettledCall {
  readonly id: number;
  readonly isOk: boolean;
  readonly text: string;
}

/**
 * @param refused the reason of the error table where the gateway itself has answered.
 * @param result of the tool; undefined for a call that has failed.
 */
export type Settled = (settled: SettledCall, refused?: string, result?: JsonObject) => void;

/** What the calls of one run share. */
export interface RunStream {
  readonly id: string;
  readonly outer: CallStream;
  /** The `traceparent` of the run. */
  readonly trace: string | undefined;
}

export class InnerStream implements CallStream {
  /** No other worker continues a call of a run. */
  readonly origin = undefined;
  readonly begun = undefined;
  readonly trace: string | undefined;
  readonly tap: string | undefined;
  readonly run: string;
  readonly #outer: CallStream;
  readonly #id: number;
  readonly #settled: Settled;
  #answer: ServerAnswer | undefined;

  constructor({ id: run, outer, trace }: RunStream, id: number, settled: Settled) {
    this.run = run;
    this.trace = trace;
    this.tap = innerTag(outer.tap, id);
    this.#outer = outer;
    this.#id = id;
    this.#settled = settled;
  }

  send(text: string): void {
    this.#outer.send(text);
  }

  completed(answer: ServerAnswer): ServerAnswer {
    this.#answer = answer;
    return answer;
  }

  answerMember(): void {
    const answer = this.#answer;
    if (answer === undefined) this.#fail('the server has sent no result');
    else if (answer.kind === 'error') this.#fail(answer.error.message);
    else this.#take(answer.result);
  }

  refuse(_id: JsonRpcId, { reason, message }: GatewayFault): void {
    this.#fail(message, reason);
  }

  leaveUnanswered(): void {
    this.#fail('the call was cancelled');
  }

  #take(result: JsonObject): void {
    if (result['resultType'] === 'input_required')
      this.#fail('the server asks its user something in a way that cannot be passed on here; call this tool by itself');
    else if (result['isError'] === true) this.#fail(textIn(result) ?? 'the tool has failed');
    else this.#settled({ id: this.#id, isOk: true, text: resultText(result) }, undefined, result);
  }

  #fail(message: string, reason?: string): void {
    this.#settled(
      { id: this.#id, isOk: false, text: JSON.stringify({ message, reason: reason ?? 'tool_error' }) },
      reason,
    );
  }
}

/** Tags of calls have the name of the call in front of those of its watches. */
function innerTag(tag: string | undefined, id: number): string | undefined {
  return tag?.replace(/^[^~]*/, (name) => `${name}-${id}`);
}

/** The result of a tool as JSON, as a run gets it: its structured content, else its text, which is parsed if it is JSON, else its content. */
function resultText(result: JsonObject): string {
  const { structuredContent, content } = result;
  if (structuredContent !== undefined) return JSON.stringify(structuredContent);
  const text = textIn(result);
  if (text === undefined) return JSON.stringify(content ?? null);
  return isJsonValue(text) ? text : JSON.stringify(text);
}

/** The text of a result; undefined if it has anything else. */
function textIn({ content }: JsonObject): string | undefined {
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const texts = content.map((each: unknown) => (isObject(each) && each['type'] === 'text' ? each['text'] : undefined));
  return texts.every((each) => typeof each === 'string') ? texts.join('\n') : undefined;
}

/** Whether a text is a JSON object or array. A text such as `12` or `true` stays a text, since its tool does not say that it is a number. */
function isJsonValue(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
