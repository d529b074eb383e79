/** Requests that go to several servers, one after the other: for a URI that no list, template or link names, and for lists that are not in the catalogue. */
import type { MissingServer } from '@omnibus/catalog';
import {
  fault,
  isObject,
  printable,
  urlElicitationRequired,
  type ExchangeOutcome,
  type JsonObject,
  type ServerName,
} from '@omnibus/protocol';
import type { TaskIds } from '../public-ids/task-ids.ts';
import type { Wanted } from './permission.ts';
import type { CallScreen, Screened } from './transform.ts';
import type { CallHost } from './call-host.ts';
import type { Carrier } from './carry.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import { screenFirst } from './screen-first.ts';
import type { PublicMessages } from './public-messages.ts';
import type { Destination, Lists, Search } from './plan.ts';
import { cursorOf } from './routes/list-page.ts';
import { unknownResource } from './routes/unknown-entry.ts';

/** Bound on servers asked for one URI: the requests that one request of a client may become. */
const maxSearched = 16;

/** Answers that only say that a server does not have a resource; 0 is the code of the Python SDK up to 1.x. */
const notFoundCodes: readonly number[] = [-32_002, -32_602, -32_601, 0];
/** Errors of servers that the answer to a search repeats, and characters of each. */
const maxSaid = 3;
const maxSaidLength = 200;

/** The state of a search. */
interface Searched {
  /** Time (`performance.now()`) after which no further server gets the request: the search has the time of one call. */
  readonly endsAt: number;
  /** Unreachable servers. */
  readonly unasked: readonly MissingServer[];
  /** Errors of servers other than "no such resource". */
  readonly said: readonly string[];
  /** The first refusal that no server made. */
  readonly refused: ExchangeOutcome | undefined;
}

interface SequentialRequestsOptions {
  readonly timeLimits: CallHost['timeLimits'];
  readonly access: CallHost['access'];
  readonly isBarred: (server: ServerName) => boolean;
}

export class SequentialRequests<Stream extends CallStream> {
  readonly #options: SequentialRequestsOptions;
  readonly #carrier: Carrier<Stream>;
  readonly #messages: PublicMessages<Stream>;
  readonly #tasks: TaskIds;
  readonly #port: Pick<ClientPort<Stream>, 'dialect' | 'asking'>;

  constructor(
    options: SequentialRequestsOptions,
    carrier: Carrier<Stream>,
    messages: PublicMessages<Stream>,
    tasks: TaskIds,
    port: Pick<ClientPort<Stream>, 'dialect' | 'asking'>,
  ) {
    this.#options = options;
    this.#carrier = carrier;
    this.#messages = messages;
    this.#tasks = tasks;
    this.#port = port;
  }

  /**
   * Asks servers for a URI, one after the other, until one knows it or the time of one call is over. The only server of an endpoint answers in its own
   * words. Of several, each may not know it in another way, so the answer is the code of the client's revision.
   */
  search(call: ForwardedCall<Stream>, { servers, uri, params, screened }: Search, before?: Searched): void {
    const [server, ...others] = before === undefined ? servers.slice(0, maxSearched) : servers;
    if (server === undefined) {
      this.#messages.deny(call, unknownResource(call.view, uri));
      return;
    }
    const endsAt = before?.endsAt ?? performance.now() + this.#options.timeLimits(server, undefined).callMs;
    const decided = screened?.get(server);
    const asked = decided === undefined ? call : { ...call, ...decided };
    this.#send(asked, decided?.screen, { server, params, subject: ['resource', uri] }, (outcome) => {
      const isKnown =
        outcome.kind === 'result' || (outcome.kind === 'error' && outcome.error.code === urlElicitationRequired);
      if (isKnown || call.view.definition.servers.length === 1) {
        this.#messages.answer(call, { server }, outcome);
        return;
      }
      const searched = after(before, endsAt, server, outcome);
      // A barrier may have appeared meanwhile.
      const next = others.filter((other) => !this.#options.isBarred(other));
      if (next.length > 0 && performance.now() < endsAt)
        this.search(call, { servers: next, uri, params, ...(screened === undefined ? {} : { screened }) }, searched);
      else
        this.#messages.answer(
          call,
          { server },
          searched.refused ?? {
            kind: 'fault',
            fault: unknownResource(
              call.view,
              uri,
              [
                ...searched.unasked,
                ...next.map((other) => ({ server: other, problem: 'there was no time to ask it' })),
              ],
              searched.said,
            ),
          },
        );
    });
  }

  /** Sends a request after its guardrails have passed it, or settles it with their refusal. */
  #send(
    call: ForwardedCall<Stream>,
    screen: CallScreen | undefined,
    to: Destination,
    settled: (outcome: ExchangeOutcome) => void,
  ): void {
    if (screen?.looksAt('requests') !== true) {
      this.#carrier.carry(call, to, settled);
      return;
    }
    const go = (made: Screened): void =>
      'fault' in made
        ? settled({ kind: 'fault', fault: made.fault })
        : this.#carrier.carry(call, { ...to, params: made.payload }, settled);
    const made = screenFirst(this.#carrier.open, call, screen, to.params, go);
    if (made !== undefined) go(made);
  }

  /** A task of a list, redacted as the rules require for its caller. */
  #clean(
    { method, view }: ForwardedCall<Stream>,
    server: ServerName,
    tool: string | undefined,
    task: JsonObject,
  ): JsonObject {
    const wanted: Wanted =
      tool === undefined
        ? { kind: 'server', server, name: method, method, isBegun: true }
        : { kind: 'tool', server, name: tool, method, entry: view.toolOf(server, tool), isBegun: true };
    return this.#options.access.on?.of(this.#port.asking)?.redacted(wanted, task) ?? task;
  }

  /** The page of one server, with the entries that the client may see. */
  #listed(
    call: ForwardedCall<Stream>,
    server: ServerName,
    entries: string,
    outcome: ExchangeOutcome,
  ): {
    readonly own: unknown;
    readonly listed: JsonObject;
    readonly tools: readonly (string | undefined)[] | undefined;
  } {
    // A server that fails to list contributes an empty page, so that the lists of the others can be read.
    const ran = outcome.kind === 'result' ? outcome.tools : undefined;
    const { nextCursor: own, ...whole }: JsonObject = outcome.kind === 'result' ? outcome.result : { [entries]: [] };
    const all = whole[entries];
    const seen = Array.isArray(all)
      ? all
          .map((entry, index) => ({ entry: entry as unknown, tool: ran?.[index] }))
          .filter(({ entry, tool }) => mayList(call, server, entry, tool))
      : undefined;
    const listed =
      seen === undefined
        ? whole
        : {
            ...whole,
            [entries]: seen.map(({ entry, tool }) =>
              isObject(entry) && call.method === 'tasks/list' ? this.#clean(call, server, tool, entry) : entry,
            ),
          };
    return { own, listed, tools: seen?.map(({ tool }) => tool) };
  }

  /** Answers one page of one server at a time; the gateway's cursor contains the server's own. */
  list(call: ForwardedCall<Stream>, { servers, entries, params: { cursor: given, ...params } }: Lists): void {
    const { stream, id } = call;
    const sealed = cursorOf({ cursor: given });
    const [first] = servers;
    const page =
      typeof sealed === 'string'
        ? this.#tasks.openCursor(sealed)
        : first === undefined
          ? undefined
          : { server: first, cursor: undefined };
    const index = page === undefined ? -1 : servers.indexOf(page.server);
    if (sealed === undefined && first === undefined) {
      this.#messages.write(
        stream,
        id,
        this.#port.dialect.answerOf(call.method, { kind: 'result', result: { [entries]: [] } }, false),
      );
      return;
    }
    if (page === undefined || index === -1) {
      this.#messages.deny(call, fault('cursor.invalid'));
      return;
    }
    const { server, cursor } = page;
    const screen = this.#options.access.on
      ?.of(this.#port.asking)
      ?.screen({ kind: 'server', server, name: call.method, method: call.method }, false);
    this.#carrier.carry(
      screen === undefined ? call : { ...call, screen },
      { server, params: cursor === undefined ? params : { ...params, cursor }, subject: ['list of', entries] },
      (outcome) => {
        const { own, listed, tools } = this.#listed(call, server, entries, outcome);
        const following = servers[index + 1];
        const next =
          typeof own === 'string'
            ? { server, cursor: own }
            : following === undefined
              ? undefined
              : { server: following, cursor: undefined };
        this.#messages.answer(
          call,
          { server },
          {
            ...outcome,
            kind: 'result',
            result: listed,
            ...(tools === undefined ? {} : { tools }),
          },
          next === undefined ? undefined : { nextCursor: this.#tasks.publishCursor(next) },
        );
      },
    );
  }
}

/** The state of a search after one more server without the URI. */
function after(before: Searched | undefined, endsAt: number, server: ServerName, outcome: ExchangeOutcome): Searched {
  const { unasked = [], said = [], refused } = before ?? {};
  if (outcome.kind === 'fault') {
    const { reason, message: problem } = outcome.fault;
    return reason.startsWith('upstream.')
      ? { endsAt, unasked: [...unasked, { server, problem }], said, refused }
      : { endsAt, unasked, said, refused: refused ?? outcome };
  }
  const isMore = outcome.kind === 'error' && !notFoundCodes.includes(outcome.error.code) && said.length < maxSaid;
  return {
    endsAt,
    unasked,
    said: isMore ? [...said, `server "${server}" says ${printable(outcome.error.message, maxSaidLength)}`] : said,
    refused,
  };
}

/** Whether the client may see an entry of a list that a server made. @param tool the tool that a task runs. */
function mayList(
  { method, view }: Pick<ForwardedCall<CallStream>, 'method' | 'view'>,
  server: ServerName,
  entry: unknown,
  tool: string | undefined,
): boolean {
  if (method === 'tasks/list') return view.mayHaveTask(server, tool);
  return !isObject(entry) || typeof entry['uri'] !== 'string' || view.mayHave(server, entry['uri']);
}
