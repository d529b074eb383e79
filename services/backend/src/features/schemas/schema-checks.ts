/**
 * Checks messages to and from a server against their schemas: arguments of tools against `inputSchema` and
 * of prompts against those they list, results against `outputSchema`, answers of clients against the questions. The shapes of results and questions
 * are those of the specification (`message-shapes.ts`).
 *
 * Source: 2025-11-25 and 2026-07-28 server/tools, Output Schema and Security Considerations, and client/elicitation: a server must check the
 * arguments of its tools, a client should check structured results, and both should check the answers to a form. The gateway is either side to
 * the other.
 */
import { setLast } from '@omnibus/collections';
import {
  errorResult,
  mannerOf,
  fault,
  isObject,
  printable,
  type CallCommand,
  type ExchangeOutcome,
  type InputAnswer,
  type JsonObject,
  type PromptEntry,
  type QuestionMethod,
  type ServerName,
} from '@omnibus/protocol';
import type { Logger, Metrics, SchemaProblem } from '@omnibus/telemetry';
import type { compileSchema, CompiledSchema } from '@omnibus/validation';
import { answerSchemas, promptSchema, WantedAnswers } from './answer-schemas.ts';
import type { Call } from '../../call/call.ts';
import { questionProblem, resultProblem } from './message-shapes.ts';
import type { CallStep } from '../../call/steps.ts';

/** `warn`: a mismatch is logged and counted, and the value is passed on. */
export type ValidationMode = 'off' | 'warn' | 'enforce';

export interface SchemaChecksOptions {
  readonly mode: ValidationMode;
  readonly server: ServerName;
  readonly prompt: (name: string) => PromptEntry | undefined;
  readonly log: Logger;
  readonly metrics: Pick<Metrics['upstream'], 'schemaProblem'>;
}

interface Known {
  readonly compiled: CompiledSchema;
  /** The operator has been told of it once. */
  isTold: boolean;
}

/** Bound on compiled schemas of one server; one takes some milliseconds to compile and some ten kilobytes. */
const maxSchemas = 1_000;
const invalidParams = -32_602;
/** Bound on logged odd messages of one server, each once. */
const maxTold = 100;

export class SchemaChecks implements CallStep {
  readonly #options: SchemaChecksOptions;
  /** Compiled when first needed; forgotten with the catalogue record of the schema. */
  readonly #known = new WeakMap<object, Known>();
  /** The same by their texts, the latest last. */
  readonly #byText = new Map<string, Known>();
  /** Schemas made from the arguments that prompts list. */
  readonly #prompts = new WeakMap<object, JsonObject>();
  readonly #wanted = new WantedAnswers();
  /** Messages of odd shapes that the operator has been told of. */
  readonly #told = new Set<string>();
  #compile: typeof compileSchema | undefined;

  constructor(options: SchemaChecksOptions) {
    this.#options = options;
  }

  /** Loads the validator, which is loaded only where it is used. */
  async start(): Promise<void> {
    if (this.#options.mode !== 'off') this.#compile = (await import('@omnibus/validation')).compileSchema;
  }

  /** @returns the outcome of a call that is not made because of its arguments; for a tool a result with `isError`, which a model can act on. */
  before({ command, tool }: Pick<Call, 'command' | 'tool'>): ExchangeOutcome | undefined {
    if (this.#compile === undefined) return undefined;
    const { method, params } = command;
    const refusal = params['inputResponses'] === undefined ? undefined : this.#answersRefusal(command);
    if (refusal !== undefined) return refusal;
    if (method === 'prompts/get') return this.#promptRefusal(params);
    const schema = tool?.['inputSchema'];
    const problem = isObject(schema)
      ? this.#problem('arguments', String(params['name']), schema, params['arguments'] ?? {})
      : undefined;
    if (problem === undefined) return undefined;
    return {
      kind: 'result',
      result: errorResult(`The arguments do not fit the tool's input schema: ${problem}. The tool was not called.`),
    };
  }

  #answersRefusal(command: CallCommand): ExchangeOutcome | undefined {
    for (const { key, method, params, answer } of this.#wanted.broughtBy(command)) {
      const checked = this.answer(method, params, { result: answer });
      if ('error' in checked)
        return {
          kind: 'fault',
          fault: fault('params.invalid', `params.inputResponses.${printable(key, 100)}: ${checked.error.message}`),
        };
    }
    return undefined;
  }

  #promptRefusal({ name, arguments: given = {} }: JsonObject): ExchangeOutcome | undefined {
    const listed = typeof name === 'string' ? this.#options.prompt(name)?.['arguments'] : undefined;
    if (typeof listed !== 'object' || listed === null) return undefined;
    const schema = this.#prompts.get(listed) ?? promptSchema(listed);
    if (schema === undefined) return undefined;
    this.#prompts.set(listed, schema);
    const problem = this.#problem('arguments', String(name), schema, given);
    return problem === undefined
      ? undefined
      : {
          kind: 'fault',
          fault: fault(
            'params.invalid',
            `The arguments do not fit those the prompt lists: ${problem}. The server was not asked.`,
          ),
        };
  }

  /** The server's outcome, or the one that replaces a result that does not match its schema. */
  outcome({ command, tool }: Pick<Call, 'command' | 'tool'>, outcome: ExchangeOutcome): ExchangeOutcome {
    if (this.#compile === undefined || outcome.kind !== 'result') return outcome;
    const { method, params } = command;
    const { result } = outcome;
    if (result['inputRequests'] !== undefined && mannerOf(command.context).asksAgain)
      this.#wanted.remember(command, result);
    const shape = resultProblem(method, result);
    const odd = shape === undefined ? undefined : this.#oddShape('result', method, shape);
    if (odd !== undefined) return this.#invalid(`its answer to ${method} is not as the specification says: ${odd}`);
    const schema = tool?.['outputSchema'];
    if (
      !isObject(schema) ||
      result['isError'] === true ||
      'task' in result ||
      (result['resultType'] !== undefined && result['resultType'] !== 'complete')
    )
      return outcome;
    const problem = this.#problem('result', String(params['name']), schema, result['structuredContent']);
    return problem === undefined
      ? outcome
      : this.#invalid(`its result does not fit the tool's output schema: ${problem}`);
  }

  #invalid(problem: string): ExchangeOutcome {
    const { server } = this.#options;
    return {
      kind: 'fault',
      fault: fault('upstream.invalid', `server "${server}" sent something invalid: ${problem}`, { server }),
    };
  }

  /** The refusal of a server's question; undefined if it may ask. */
  questionRefusal(method: QuestionMethod, params: JsonObject): InputAnswer | undefined {
    if (this.#compile === undefined) return undefined;
    const shape = questionProblem(method, params);
    const problem = shape === undefined ? undefined : this.#oddShape('question', method, shape);
    return problem === undefined
      ? undefined
      : {
          error: {
            code: invalidParams,
            message: `${method} is not as the specification says, so the client was not asked: ${problem}`,
          },
        };
  }

  /** @returns the problem, if mismatches are refused. */
  #oddShape(what: SchemaProblem, method: string, problem: string): string | undefined {
    const { mode, server, log, metrics } = this.#options;
    metrics.schemaProblem(server, what);
    const about = `${method}: ${problem}`;
    if (this.#told.size < maxTold && !this.#told.has(about)) {
      this.#told.add(about);
      log.warn(
        { method, what, problem },
        `a message of the server is not as the specification says and is ${mode === 'enforce' ? 'refused' : 'passed on all the same'}`,
      );
    }
    return mode === 'enforce' ? problem : undefined;
  }

  /** The client's answer, or the error in place of a mismatch. */
  answer(method: QuestionMethod, params: JsonObject, answer: InputAnswer): InputAnswer {
    if (this.#compile === undefined || 'error' in answer) return answer;
    let problem: string | undefined;
    for (const { schema, value } of answerSchemas(method, params, answer.result))
      problem ??= this.#problem('answer', method, schema, value);
    return problem === undefined
      ? answer
      : {
          error: {
            code: invalidParams,
            message: `the client's answer to ${method} does not fit what was asked: ${problem}`,
          },
        };
  }

  /** @returns the problem, if mismatches are refused. */
  #problem(what: SchemaProblem, name: string, schema: JsonObject, value: unknown): string | undefined {
    const known = this.#known.get(schema) ?? this.#compiled(schema);
    const { mode, server, log, metrics } = this.#options;
    if (known.compiled.kind === 'unusable') {
      if (!known.isTold)
        log.warn(
          { name, what, problem: known.compiled.problem },
          'a schema of the server cannot be used, so nothing is held against it',
        );
      known.isTold = true;
      return undefined;
    }
    const verdict = known.compiled.validate(value);
    if (verdict === 'ok' || verdict === 'unchecked') return undefined;
    metrics.schemaProblem(server, what);
    // Values may be secret, so the message names members and expected types.
    if (!known.isTold)
      log.warn(
        { name, what, problem: verdict.problem },
        mode === 'enforce'
          ? 'something does not fit its schema and is refused'
          : 'something does not fit its schema and is passed on all the same',
      );
    known.isTold = true;
    return mode === 'enforce' ? verdict.problem : undefined;
  }

  #compiled(schema: JsonObject): Known {
    // Forms repeat, and lists mostly stay the same, so schemas are shared by their text.
    const text = JSON.stringify(schema);
    const known = this.#byText.get(text) ?? {
      compiled: (this.#compile as typeof compileSchema)(schema),
      isTold: false,
    };
    setLast(this.#byText, text, known, maxSchemas);
    this.#known.set(schema, known);
    return known;
  }
}
