/** The operation of the API that streams state, calls and lines of a server to one reader. */
import type { IncomingMessage } from 'node:http';
import { stateTopics, type QueryOf } from '@omnibus/admin-api';
import type { AdminAct } from '@omnibus/telemetry';
import type { AllProcesses } from './all-processes.ts';
import { ApiProblem } from './api-problem.ts';
import { LogReaders } from './log-readers.ts';
import type { ApiOptions } from './options.ts';
import type { ApiRequest, Handlers } from './site.ts';
import { Watches, type Told, type Topics } from './watch.ts';

type WatchHandlersOptions = Pick<ApiOptions, 'access' | 'config' | 'note' | 'onFault' | 'tapDesk' | 'wheel'>;

export function watchFeature(
  options: WatchHandlersOptions,
  all: AllProcesses,
  state: Topics,
): { readonly handlers: Pick<Handlers, 'watch'>; stop(): void } {
  const { access, wheel, onFault } = options;
  const watches = new Watches(wheel, state, onFault);
  const logReaders = new LogReaders(wheel, (server, since) => all.board.lines(server, since), onFault);
  const letIn = async (request: IncomingMessage, acts: readonly AdminAct[]): Promise<void> => {
    for (const act of acts) {
      const refusal = await access.guard(request, request.url ?? '', act);
      if (refusal !== undefined) throw new ApiProblem('forbidden', refusal.text.trim());
    }
  };
  return {
    handlers: {
      watch: async (asked) => {
        const { request, response, query } = asked;
        const topics = topicsOf(query);
        const { board } = all;
        if (topics.has('logs')) await board.lines(query.server as string);
        const acts = actsOf(topics, query);
        await letIn(request, acts.slice(1));
        if (query.payload !== 'none') notePayloads(options, asked);
        watches.open({
          request,
          response,
          who: access.of(request).name,
          topics,
          told: sourcesOf(options, logReaders, topics, asked),
          check: () => letIn(request, acts),
        });
        return undefined;
      },
    },
    stop() {
      watches.stop();
      logReaders.stop();
    },
  };
}

/** @throws {ApiProblem} */
function topicsOf({ topics: given = 'calls', server }: QueryOf<'watch'>): ReadonlySet<string> {
  const topics = new Set(
    given
      .split(',')
      .map((topic) => topic.trim())
      .filter((topic) => topic !== ''),
  );
  const known: readonly string[] = ['calls', 'logs', ...stateTopics];
  const unknown = [...topics].find((topic) => !known.includes(topic));
  if (unknown !== undefined || topics.size === 0)
    throw new ApiProblem('invalid', `there is no topic ${JSON.stringify(unknown ?? '')}`, known.join(', '));
  if (topics.has('logs') && server === undefined)
    throw new ApiProblem('invalid', 'the topic logs is about one server', 'add server=NAME');
  return topics;
}

/** The acts that a stream needs permission for. The site has asked for the first. */
function actsOf(topics: ReadonlySet<string>, { payload }: QueryOf<'watch'>): readonly AdminAct[] {
  return [
    'console',
    ...(topics.has('calls') ? ['calls' as const] : []),
    ...(topics.has('approvals') ? ['approvals.list' as const] : []),
    ...(payload === 'none' ? [] : ['payloads' as const]),
  ];
}

/** @throws {ApiProblem} `mode` */
function notePayloads({ config, note }: WatchHandlersOptions, { request, query }: ApiRequest<'watch'>): void {
  if (!config().console.payloads)
    throw new ApiProblem(
      'mode',
      'arguments and results are shown to nobody here',
      'set console: { payloads: true } where an operator may see them',
    );
  const { server, tool, client } = query;
  const named = Object.entries({ server, tool, client }).filter(([, value]) => value !== undefined);
  note(request, 'calls.payloads', { payload: query.payload, ...Object.fromEntries(named) });
}

/** Watched calls and lines of a server, for one stream. */
function sourcesOf(
  { tapDesk }: WatchHandlersOptions,
  logReaders: LogReaders,
  topics: ReadonlySet<string>,
  { response, query }: ApiRequest<'watch'>,
): Told {
  const { topics: _topics, rate, payload, ...filter } = query;
  return (send) => {
    const ends: (() => void)[] = [];
    if (topics.has('calls'))
      ends.push(
        tapDesk.watch({
          filter,
          perSecond: rate,
          payload,
          told: (events, dropped) => send('calls', { events, dropped }),
        }),
      );
    if (topics.has('logs'))
      ends.push(
        logReaders.add(query.server as string, {
          told: (logs) => send('logs', logs),
          refused: ({ body }) => {
            send('refused', body);
            response.end();
          },
        }),
      );
    return () => {
      for (const end of ends) end();
    };
  };
}
