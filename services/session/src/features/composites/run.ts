/** One call of a composite tool. Its steps run one after the other, and the first that fails ends it. */
import type { Config } from '@omnibus/config';
import { referencesIn } from '@omnibus/config';
import {
  errorResult,
  fault,
  isObject,
  paramsProblem,
  parseJson,
  printable,
  readOwnLimit,
  textResult,
  type JsonObject,
} from '@omnibus/protocol';
import type { CallStream } from '../../call/client-port.ts';
import { InnerRun, type RunEnd } from '../../call/inner-run.ts';
import type { SettledCall } from '../../call/inner-stream.ts';
import type { OuterCall } from '../../call/outer-call.ts';
import { mapped, MappingError } from './mapping.ts';

type Composite = Config['composites'][string];

export class CompositeRun<Stream extends CallStream> extends InnerRun<Stream> {
  readonly #composite: Composite;
  readonly #given: JsonObject;
  readonly #ended: (end: RunEnd) => void;
  /** Results that later steps or the result of the tool refer to. */
  readonly #results: Record<string, unknown> = {};
  readonly #wanted: ReadonlySet<string>;
  /** Steps that have answered. */
  readonly #done: string[] = [];
  /** The time limit of the client for the whole request, in milliseconds. */
  #limitMs: number | undefined;

  /** @param ended called once. */
  constructor(
    outer: OuterCall<Stream>,
    name: string,
    composite: Composite,
    given: JsonObject,
    ended: (end: RunEnd) => void,
  ) {
    super(outer, name);
    this.#composite = composite;
    this.#given = given;
    this.#ended = ended;
    const { steps, result } = composite;
    this.#wanted = new Set(
      [...referencesIn([steps.map((step) => step.arguments), result])].flatMap(({ kind, name: step }) =>
        kind === 'steps' ? [step] : [],
      ),
    );
  }

  /** Makes the first call. */
  protected override start(): void {
    const { params } = this.outer;
    const limitMs = readOwnLimit(params);
    const problem = paramsProblem('tools/call', params) ?? (typeof limitMs === 'object' ? limitMs.problem : undefined);
    if (problem !== undefined) {
      this.fail(fault('params.invalid', problem));
      return;
    }
    this.#limitMs = typeof limitMs === 'number' ? limitMs : undefined;
    const { required } = this.#composite.inputSchema;
    const missing = (Array.isArray(required) ? required : []).filter(
      (name) => typeof name === 'string' && !Object.hasOwn(this.#given, name),
    );
    if (missing.length === 0) this.#next();
    else
      this.answer(
        errorResult(`The tool needs ${missing.map((name) => JSON.stringify(name)).join(', ')}. No step was begun.`),
      );
  }

  #next(): void {
    const index = this.#done.length;
    const step = this.#composite.steps[index];
    if (step === undefined) return;
    const at = step.call.indexOf('/');
    const name = this.view.nameOf(step.call.slice(0, at), step.call.slice(at + 1));
    if (name === undefined) {
      this.#failed('this caller is not offered its tool any more');
      return;
    }
    let given: JsonObject;
    try {
      given = mapped(step.arguments, this.#sources) as JsonObject;
    } catch (error) {
      if (!(error instanceof MappingError)) throw error;
      this.#failed(error.message);
      return;
    }
    const { maxBodyBytes } = this.outer.carrier.host.limits;
    if (JSON.stringify(given).length > maxBodyBytes) {
      this.#failed(`its arguments have more than ${maxBodyBytes} characters (limits.maxBodyBytes)`);
      return;
    }
    this.calls += 1;
    // The call has ended, and is on record, before the next one is made.
    const stream = this.streamOf(index, (settled, _refused, result) =>
      queueMicrotask(() => this.#settled(settled, result)),
    );
    const leftMs = this.#limitMs === undefined ? undefined : Math.max(1, Math.ceil(this.#limitMs - this.ageMs));
    this.forward(stream, index, name, given, { limitMs: leftMs });
  }

  get #sources() {
    return { args: this.#given, steps: this.#results };
  }

  #settled({ isOk, text }: SettledCall, result: JsonObject | undefined): void {
    if (this.isOver) return;
    if (!isOk || result === undefined) {
      this.#failed((parseJson(text) as { readonly message: string }).message);
      return;
    }
    const { steps } = this.#composite;
    const { id } = steps[this.#done.length] as Composite['steps'][number];
    this.#done.push(id);
    if (this.#wanted.has(id)) this.#results[id] = parseJson(text);
    this.report(`step ${id} has answered (${this.#done.length} of ${steps.length})`);
    if (this.#done.length < steps.length) this.#next();
    else this.#finish(result);
  }

  /** @param last the result of the last step. */
  #finish({ content = [], structuredContent }: JsonObject): void {
    const template = this.#composite.result;
    if (template === undefined) {
      this.answer({ content, ...(isObject(structuredContent) ? { structuredContent } : {}) });
      return;
    }
    try {
      const value = mapped(template, this.#sources) ?? null;
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const { maxUpstreamMessageBytes: most } = this.outer.carrier.host.limits;
      if (text.length > most) throw new MappingError(`it has more than ${most} characters`);
      this.answer({ ...textResult(text), ...(isObject(value) ? { structuredContent: value } : {}) });
    } catch (error) {
      if (!(error instanceof MappingError)) throw error;
      this.answer(errorResult(`All steps have run, and the result cannot be made: ${error.message}.`));
    }
  }

  #failed(problem: string): void {
    const { id, call } = this.#composite.steps[this.#done.length] as Composite['steps'][number];
    const before = this.#done.length === 0 ? 'No step has run before' : `Steps that have run: ${this.#done.join(', ')}`;
    this.answer(
      errorResult(`The step "${id}" (${printable(call, 200)}) has failed: ${problem.replace(/\.$/, '')}. ${before}.`),
    );
  }

  protected override stopped(): void {
    // Nothing but its calls, which end with it.
  }

  protected override facts(): Readonly<Record<string, string | number>> {
    return { steps: this.#done.join(' ') };
  }

  protected override left(end: RunEnd): void {
    this.#ended(end);
  }
}
