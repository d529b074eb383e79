/**
 * Follows calls as they happen (`omnibus calls --follow`): a line when one has ended, and on a terminal, below these lines, the running ones, with their state and
 * duration. In a pipe, `--running` prints a line for each change of a call's state.
 */
import { addEvent, callOf, type Call, type TapEvent, type Watched } from '@omnibus/admin-api';
import { answer, notice } from '../output/outcome.ts';
import { fitLine, paint } from '../output/terminal.ts';
import { followApi, queryOf, type ApiOptions } from './api.ts';
import { lineOf, placeOf } from './call-lines.ts';

export interface FollowOptions extends ApiOptions {
  /** Prints calls that run too, where this is no terminal. */
  readonly running?: boolean;
}

/** Milliseconds after the end of a call until the events of all processes about it have arrived. */
const wholeMs = 400;
/** Calls that are followed at the same time; beyond that the oldest is dropped. */
const maxOpen = 1_000;
const maxEvents = 200;
/** Bound on running calls on a terminal. */
const maxShown = 10;
/** Interval at which ages are drawn again. */
const drawMs = 1_000;

/** @param filter of the watch. Resolves never; ends when the stream does. @throws {CommandProblem} */
export async function followCalls(
  options: FollowOptions,
  filter: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const calls = new FollowedCalls(options);
  if (options.json !== true && process.stderr.isTTY) notice('watching; Ctrl-C ends it');
  const drawing = setInterval(() => calls.draw(), drawMs).unref();
  try {
    await followApi(options, `/watch${queryOf({ topics: 'calls', ...filter })}`, (name, data) => {
      if (name === 'calls') calls.hear(data as Watched);
      return true;
    });
  } finally {
    clearInterval(drawing);
    calls.clear();
  }
}

class FollowedCalls {
  readonly #open = new Map<string, TapEvent[]>();
  /** Ended calls without a line yet. */
  readonly #ended = new Set<string>();
  readonly #isJson: boolean;
  readonly #isScreen: boolean;
  readonly #saysStates: boolean;
  /** Lines on the screen below the printed ones. */
  #lines = 0;

  constructor({ json, running }: FollowOptions) {
    this.#isJson = json === true;
    this.#isScreen = !this.#isJson && process.stdout.isTTY;
    this.#saysStates = running === true && !this.#isScreen;
  }

  hear({ events, dropped }: Watched): void {
    for (const event of events) this.#hear(event);
    if (dropped > 0) {
      this.clear();
      notice(`${dropped} more calls were not shown`);
    }
    this.draw();
  }

  #hear(event: TapEvent): void {
    const known = this.#open.get(event.tag);
    if (known === undefined && !isBeginning(event)) return;
    const events = known ?? [];
    const before = known === undefined ? undefined : callOf(events).state;
    addEvent(events, event, maxEvents);
    this.#open.set(event.tag, events);
    if (this.#open.size > maxOpen) this.#open.delete(this.#open.keys().next().value as string);
    const call = callOf(events);
    if (call.state === 'ended') this.#endLater(event.tag);
    else if (this.#saysStates && call.state !== before) this.#print(call);
  }

  #endLater(tag: string): void {
    if (this.#ended.has(tag)) return;
    this.#ended.add(tag);
    setTimeout(() => {
      const events = this.#open.get(tag);
      this.#open.delete(tag);
      this.#ended.delete(tag);
      if (events === undefined) return;
      this.clear();
      this.#print(callOf(events));
      this.draw();
    }, wholeMs).unref();
  }

  #print(call: Call): void {
    answer(this.#isJson ? `${JSON.stringify(call)}\n` : lineOf(call));
  }

  /** Draws the running calls again, on a terminal. */
  draw(): void {
    if (!this.#isScreen) return;
    this.clear();
    const running = [...this.#open].filter(([tag]) => !this.#ended.has(tag)).map(([, events]) => callOf(events));
    const shown = running.slice(0, maxShown).map((call) => paint('dim', fitLine(placeOf(call))));
    const lines =
      running.length > maxShown ? [...shown, paint('dim', `  and ${running.length - maxShown} more`)] : shown;
    for (const line of lines) answer(`${line}\n`);
    this.#lines = lines.length;
  }

  /** Removes the running calls from the screen, before something else is printed. */
  clear(): void {
    if (this.#lines > 0) answer(`\u001B[${this.#lines}A\u001B[J`);
    this.#lines = 0;
  }
}

const isBeginning = ({ what }: TapEvent): boolean =>
  ['arrived', 'approval-asked', 'routed', 'standing', 'settled'].includes(what);
