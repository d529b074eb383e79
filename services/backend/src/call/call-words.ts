/** Passes on a server's messages about one call before its answer. Created with the first such message, so a call with an answer only costs nothing here. */
import { TokenBucket } from '@omnibus/lifecycle';
import {
  isLogLevel,
  logLevels,
  numberOf,
  type ExchangeContext,
  type ExchangeEvent,
  type JsonObject,
  type LogLevel,
} from '@omnibus/protocol';
import type { Progress } from '../connection/progress.ts';

export interface CallWordsOptions {
  readonly context: ExchangeContext;
  readonly reply: (event: ExchangeEvent) => void;
  /** The least severe log messages that are passed on; undefined for all. */
  readonly least: () => LogLevel | undefined;
  /** Called for a message that is dropped, because there are too many. */
  readonly dropped: () => void;
}

/** Log messages and notifications of one call that are passed on each second: many for a person, few for the bus. */
const messagesPerSecond = 1_000;
/** Shortest time between two signs of life: far shorter than any time limit, and few for the bus however much a server reports. */
const signsMs = 50;

export class CallWords {
  readonly #options: CallWordsOptions;
  /** Greatest progress that was passed on, over all rounds of the call: the value must increase (basic/utilities/progress). */
  #reached = -Infinity;
  #signAt = -Infinity;
  #passed: TokenBucket | undefined;

  constructor(options: CallWordsOptions) {
    this.#options = options;
  }

  progress({ token: _token, ...progress }: Progress): void {
    const reached = numberOf(progress.progress) ?? -Infinity;
    if (this.#options.context.wantsProgress && reached > this.#reached) {
      this.#reached = reached;
      this.#options.reply({ kind: 'progress', ...progress });
    } else {
      this.signOfLife();
    }
  }

  /** The server works on the call; only the session gets this, and not the client. */
  signOfLife(): void {
    const now = performance.now();
    if (now - this.#signAt < signsMs) return;
    this.#signAt = now;
    this.#options.reply({ kind: 'alive' });
  }

  log(params: JsonObject): void {
    const least = this.#options.least();
    const { level } = params;
    if (least !== undefined && isLogLevel(level) && logLevels.indexOf(level) < logLevels.indexOf(least)) return;
    if (this.#mayPass()) this.#options.reply({ kind: 'log', params });
  }

  /** A notification that is in no revision. */
  notification(method: string, params: JsonObject | undefined): void {
    if (this.#mayPass())
      this.#options.reply({ kind: 'notification', method, ...(params === undefined ? {} : { params }) });
  }

  #mayPass(): boolean {
    this.#passed ??= TokenBucket.perSecond(messagesPerSecond);
    const mayPass = this.#passed.take();
    if (!mayPass) this.#options.dropped();
    return mayPass;
  }
}
