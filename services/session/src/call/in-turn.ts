/** Requests that go to several servers, one after the other: for a URI that nothing tells of, and for lists that the catalogue does not have. */
import { fault, isObject, type ExchangeOutcome, type JsonObject, type ServerName } from '@omnibus/protocol';
import type { TaskIds } from '../public-ids/task-ids.ts';
import type { Wanted } from './access.ts';
import type { CallHost } from './call-host.ts';
import type { Carrier } from './carry.ts';
import type { CallStream, ClientPort, ForwardedCall } from './client-port.ts';
import type { PublicWords } from './public-words.ts';
import type { Lists, Search } from './route.ts';
import { neverReached, unknownResource } from './routes/unknown-entry.ts';

/** Servers that are asked for a URI that none of them ever named: one request of a client becomes no more than so many. */
const maxSearched = 16;

/** What a search has come to. */
interface Searched {
  /** Monotonic milliseconds after which no further server is asked: the time that one call has. */
  readonly endsAt: number;
  /** What became of the first server that could not be asked. */
  readonly failed: ExchangeOutcome | undefined;
}

interface InTurnOptions {
  readonly timeLimits: CallHost['timeLimits'];
  readonly isBlocked: (server: ServerName) => boolean;
}

export class InTurn<Stream extends CallStream> {
  readonly #options: InTurnOptions;
  readonly #carrier: Carrier<Stream>;
  readonly #words: PublicWords<Stream>;
  readonly #tasks: TaskIds;
  readonly #port: Pick<ClientPort<Stream>, 'dialect' | 'access'>;

  constructor(options: InTurnOptions, carrier: Carrier<Stream>, words: PublicWords<Stream>, tasks: TaskIds, port: Pick<ClientPort<Stream>, 'dialect' | 'access'>) {
    this.#options = options;
    this.#carrier = carrier;
    this.#words = words;
    this.#tasks = tasks;
    this.#port = port;
  }

  /** Asks servers for a URI; the first that knows it answers. It ends with the time one call has, whatever each of them takes. */
  search(call: ForwardedCall<Stream>, { servers, uri, params, redacting }: Search, before?: Searched): void {
    const [server, ...others] = before === undefined ? servers.slice(0, maxSearched) : servers;
    if (server === undefined) {
      this.#words.deny(call, unknownResource(call.view, uri));
      return;
    }
    const endsAt = before?.endsAt ?? performance.now() + this.#options.timeLimits(server, undefined).callMs;
    const permission = redacting?.get(server);
    this.#carrier.carry(permission === undefined ? call : { ...call, permission }, { server, params, subject: ['resource', uri] }, (outcome) => {
      // Of several, one that could not be asked leaves it open whether it has it; one that does not know it says nothing of the others.
      const failed = before?.failed ?? (outcome.kind === 'fault' ? outcome : undefined);
      // It may have been blocked while others were asked.
      const next = outcome.kind === 'result' ? [] : others.filter((other) => !this.#options.isBlocked(other));
      if (outcome.kind === 'result') this.#words.answer(call, { server }, outcome);
      else if (next.length > 0 && performance.now() < endsAt) this.search(call, { servers: next, uri, params, ...(redacting === undefined ? {} : { redacting }) }, { endsAt, failed });
      else if (failed === undefined && outcome.kind === 'error' && neverReached(call.view).length > 0) this.#words.answer(call, { server }, { kind: 'fault', fault: unknownResource(call.view, uri) });
      else this.#words.answer(call, { server }, failed ?? outcome);
    });
  }

  /** What a task says of itself, as its caller may see it. */
  #clean({ method, view }: ForwardedCall<Stream>, server: ServerName, tool: string, task: JsonObject): JsonObject {
    const wanted: Wanted = tool === '' ? { kind: 'server', server, name: method, method, isBegun: true } : { kind: 'tool', server, name: tool, method, entry: view.toolOf(server, tool), isBegun: true };
    return this.#port.access()?.redaction(wanted)?.result(task) ?? task;
  }

  /** One page of one server at a time; each server's own cursor travels inside ours. */
  list(call: ForwardedCall<Stream>, { servers, entries, params: { cursor: sealed, ...params } }: Lists): void {
    const { stream, id } = call;
    const [first] = servers;
    const page = typeof sealed === 'string' ? this.#tasks.openCursor(sealed) : first === undefined ? undefined : { server: first, cursor: undefined };
    const index = page === undefined ? -1 : servers.indexOf(page.server);
    if (sealed === undefined && first === undefined) {
      this.#words.write(stream, id, this.#port.dialect.answerOf(call.method, { kind: 'result', result: { [entries]: [] } }, false));
      return;
    }
    if (page === undefined || index === -1) {
      this.#words.deny(call, fault('cursor.invalid'));
      return;
    }
    const { server, cursor } = page;
    this.#carrier.carry(call, { server, params: cursor === undefined ? params : { ...params, cursor }, subject: ['list of', entries] }, (outcome) => {
      // A server that cannot list, or not now, has nothing on the list; the others have.
      const tools = outcome.kind === 'result' ? outcome.tools : undefined;
      const { nextCursor: own, ...whole }: JsonObject = outcome.kind === 'result' ? outcome.result : { [entries]: [] };
      const all = whole[entries];
      const seen = Array.isArray(all) ? all.map((entry, index) => ({ entry: entry as unknown, tool: tools?.[index] ?? '' })).filter(({ entry, tool }) => mayList(call, server, entry, tool)) : undefined;
      const listed = seen === undefined ? whole : { ...whole, [entries]: seen.map(({ entry, tool }) => (isObject(entry) && call.method === 'tasks/list' ? this.#clean(call, server, tool, entry) : entry)) };
      const following = servers[index + 1];
      const next = typeof own === 'string' ? { server, cursor: own } : following === undefined ? undefined : { server: following, cursor: undefined };
      this.#words.answer(call, { server }, { ...outcome, kind: 'result', result: listed, ...(seen === undefined ? {} : { tools: seen.map(({ tool }) => tool) }) }, next === undefined ? undefined : { nextCursor: this.#tasks.publishCursor(next) });
    });
  }
}

/** Whether the client may see an entry of a list that its server made. @param tool that a task runs. */
function mayList({ method, view }: Pick<ForwardedCall<CallStream>, 'method' | 'view'>, server: ServerName, entry: unknown, tool: string): boolean {
  if (method === 'tasks/list') return view.mayHaveTask(server, tool);
  return !isObject(entry) || typeof entry['uri'] !== 'string' || view.mayHave(server, entry['uri']);
}
