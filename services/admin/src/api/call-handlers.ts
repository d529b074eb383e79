/** The operations of the API about watched and failed calls. */
import type { AllProcesses } from './all-processes.ts';
import { CallBoard } from './call-board.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';
import { replayOf } from './replay.ts';
import type { Handlers } from './site.ts';

export function callFeature(
  { tapDesk, failures }: Pick<ApiOptions, 'tapDesk' | 'failures'>,
  all: AllProcesses,
): {
  readonly handlers: Pick<Handlers, 'calls' | 'call' | 'replay' | 'failures'>;
  readonly questions: Readonly<Record<string, Question>>;
} {
  const board = (): CallBoard => new CallBoard(all.assembly, tapDesk);
  return {
    handlers: {
      calls: ({ query }) => board().calls(query),
      call: ({ given }) => board().call(given),
      replay: async ({ given, query }) =>
        replayOf(await board().call(given), query.server, (asked) => all.board.catalogue(asked)),
      failures: () => board().failures(),
    },
    questions: {
      'failure-count': () => ({ count: failures.latest.length }),
      failures: () => ({ failures: [...failures.latest] }),
    },
  };
}
