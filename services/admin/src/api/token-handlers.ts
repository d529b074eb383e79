/** The operation of the API that shows what tools cost a model, and the question of it to all processes. */
import { tokensSaid, type Tokens } from '@omnibus/admin-api';
import { enabledServers } from '@omnibus/config';
import type { Metrics } from '@omnibus/telemetry';
import type { AllProcesses } from './all-processes.ts';
import { answerMs, surveyMs } from './assembly.ts';
import { ApiProblem } from './api-problem.ts';
import { endpointsOf, noEndpoint } from './board.ts';
import type { ApiOptions } from './options.ts';
import type { Question } from './process-desk.ts';
import type { Handlers } from './site.ts';

export function tokenQuestions({
  sessions,
  metrics,
}: Pick<ApiOptions, 'sessions'> & { readonly metrics: Pick<Metrics, 'savedByResults'> }): Readonly<
  Record<string, Question>
> {
  return {
    tokens: async ({ endpoint, server }) => {
      const desk = sessions();
      if (desk === undefined) return undefined;
      const costs = await desk.tokens(String(endpoint), typeof server === 'string' ? server : undefined);
      return { ...(costs === undefined ? {} : { costs }), saved: await metrics.savedByResults() };
    },
  };
}

export function tokenHandlers(
  { config }: Pick<ApiOptions, 'config'>,
  all: { readonly assembly: Pick<AllProcesses['assembly'], 'ask'> },
): Pick<Handlers, 'tokens'> {
  return {
    tokens: async ({ query: { endpoint = '', server } }): Promise<Tokens> => {
      const heard = await all.assembly.ask(
        'tokens',
        { endpoint, ...(server === undefined ? {} : { server }) },
        tokensSaid,
        answerMs,
        surveyMs,
      );
      const [costs] = heard.said
        .toSorted((one, other) => one.process.localeCompare(other.process))
        .flatMap(({ body }) => body.costs ?? []);
      if (costs === undefined) throw noEndpoint(config(), endpoint);
      if (server !== undefined && costs.total.tools === 0 && !enabledServers(config()).has(server))
        throw new ApiProblem('unknown', `there is no server ${JSON.stringify(server)} at this endpoint`);
      const sum = (of: 'results' | 'tokens'): number =>
        heard.said.reduce((total, { body }) => total + body.saved[of], 0);
      return {
        ...costs,
        endpoint,
        endpoints: endpointsOf(config()),
        counting: 'characters / 4',
        saved: { results: sum('results'), tokens: sum('tokens') },
        missing: heard.missing,
      };
    },
  };
}
