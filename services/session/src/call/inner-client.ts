/**
 * The client of the calls that a script makes: the client of the script itself, with what differs for its calls. It does not take tasks, since the
 * gateway waits for their results; progress of all calls becomes progress of the one request; results stay as servers send them, in all revisions.
 */
import type { View } from '@omnibus/catalog';
import {
  tasksExtension,
  isObject,
  type Caller,
  type ClientInfo,
  type ExchangeEvent,
  type ExchangeMethod,
  type Facts,
  type InputKey,
  type JsonObject,
  type JsonRpcId,
  type LogLevel,
  type ProgressEvent,
  type ServerName,
  type SessionKey,
} from '@omnibus/protocol';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { OuterCall } from './outer-call.ts';
import type { LinkedResources } from './routes/linked-resources.ts';
import type { Questioner } from './transform.ts';
import type { CallerContext, ClientDialect, ServerAnswer, TaskMode } from '../dialect/dialect.ts';

/** The open questions of one call. */
interface Asked {
  readonly asker: Questioner;
  readonly open: Set<InputKey>;
}

export class InnerClient<Stream extends CallStream> implements ClientPort<CallStream> {
  readonly dialect: ClientDialect;
  readonly isInner: boolean = true;
  readonly #outer: OuterCall<Stream>;
  readonly #port: ClientPort<Stream>;
  readonly #progressed: (event: ProgressEvent) => void;
  readonly #asked = new Map<Questioner, Asked>();

  /** @param progressed hears progress of all calls. */
  constructor(outer: OuterCall<Stream>, progressed: (event: ProgressEvent) => void) {
    this.#outer = outer;
    this.#port = outer.carrier.port;
    this.#progressed = progressed;
    this.dialect = new InnerDialect(this.#port.dialect);
  }

  /** Whether its user is asked something. */
  get isAsked(): boolean {
    return [...this.#asked.values()].some(({ open }) => open.size > 0);
  }

  get key(): SessionKey {
    return this.#port.key;
  }

  get caller(): Caller {
    return this.#port.caller;
  }

  get facts(): Facts | undefined {
    return this.#port.facts;
  }

  get asking(): Caller {
    return this.#port.asking;
  }

  get session(): SessionKey | undefined {
    return this.#port.session;
  }

  get conversation(): string | undefined {
    return this.#port.conversation;
  }

  get linkedResources(): LinkedResources {
    return this.#port.linkedResources;
  }

  get info(): ClientInfo | undefined {
    return this.#port.info;
  }

  get capabilities(): JsonObject {
    const { capabilities } = this.#port;
    const { extensions } = capabilities;
    if (!isObject(extensions) || !(tasksExtension in extensions)) return capabilities;
    const { [tasksExtension]: _tasks, ...others } = extensions;
    return { ...capabilities, extensions: others };
  }

  get logLevel(): LogLevel | undefined {
    return this.#port.logLevel;
  }

  taskMode(): TaskMode {
    return 'none';
  }

  view(): View | undefined {
    return this.#port.view();
  }

  push(text: string): void {
    this.#port.push(text);
  }

  progressToken(_token: JsonRpcId, event: ProgressEvent): JsonRpcId | undefined {
    this.#progressed(event);
    return undefined;
  }

  wantsLog(params: JsonObject): boolean {
    return this.#port.wantsLog(params);
  }

  ask(
    asker: Questioner,
    call: ForwardedCall<CallStream>,
    server: ServerName,
    event: Extract<ExchangeEvent, { kind: 'input' }>,
  ): void {
    const asked = this.#asked.get(asker) ?? askedOf(asker);
    this.#asked.set(asker, asked);
    asked.open.add(event.input);
    this.#port.ask(asked.asker, { ...call, stream: this.#outer.stream }, server, event);
  }

  inputWithdrawn(asker: Questioner, input: InputKey, reason: string): void {
    const asked = this.#asked.get(asker);
    asked?.open.delete(input);
    this.#port.inputWithdrawn(asked?.asker ?? asker, input, reason);
  }

  askerEnded(asker: Questioner, reason: string): void {
    const asked = this.#asked.get(asker);
    this.#asked.delete(asker);
    this.#port.askerEnded(asked?.asker ?? asker, reason);
  }
}

function askedOf(asker: Questioner): Asked {
  const open = new Set<InputKey>();
  return {
    open,
    asker: {
      id: asker.id,
      answerInput: (input, answer) => {
        open.delete(input);
        asker.answerInput(input, answer);
      },
      passInputProgress: (input, params) => asker.passInputProgress(input, params),
    },
  };
}

class InnerDialect implements ClientDialect {
  readonly stateHasResult = false;
  readonly #base: ClientDialect;

  constructor(base: ClientDialect) {
    this.#base = base;
  }

  get revision(): string {
    return this.#base.revision;
  }

  get unknownMethod(): ClientDialect['unknownMethod'] {
    return this.#base.unknownMethod;
  }

  answerOf(_method: ExchangeMethod, answer: ServerAnswer): ServerAnswer {
    return answer;
  }

  contextOf(caller: Caller, key: SessionKey): CallerContext {
    return { ...this.#base.contextOf(caller, key), awaitsResult: true };
  }

  progressText(token: JsonRpcId, event: ProgressEvent): string {
    return this.#base.progressText(token, event);
  }

  logText(params: JsonObject, source: string | undefined): string {
    return this.#base.logText(params, source);
  }
}
