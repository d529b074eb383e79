/** Definitions of servers that differ from the approved ones, as the API of any process shows and approves them: it asks processes with connections to servers. */
import {
  deviation,
  sign,
  type Definitions,
  type DefinitionsApproved,
  type DefinitionsPage,
  type ServerDefinitions,
} from '@omnibus/admin-api';
import type { Config } from '@omnibus/config';
import { z } from 'zod';
import { ApiProblem } from './api-problem.ts';
import { actMs, surveyMs, type Assembly, type Heard } from './assembly.ts';

const counted = z.number();
const ofServer = z.object({
  server: z.string(),
  mode: z.enum(['pin', 'warn']).optional(),
  problem: z.string().optional(),
  held: counted,
  deviations: z.array(deviation),
  more: counted,
  signs: z.array(sign),
});
const said = z.object({ servers: z.array(ofServer) });
const done = z.union([z.object({ approved: counted }), z.object({ problem: z.string() })]);

/** A completed approval, with the approved definitions. */
export interface ApprovedNow extends DefinitionsApproved {
  readonly chosen: readonly string[];
}

export class DefinitionsOfAll {
  readonly #assembly: Assembly;
  readonly #config: () => Config;

  constructor(assembly: Assembly, config: () => Config) {
    this.#assembly = assembly;
    this.#config = config;
  }

  async list(): Promise<Definitions> {
    const heard = await this.#assembly.ask('definitions', {}, said, surveyMs);
    const { mcpServers } = this.#config();
    const names = new Set([
      ...Object.keys(mcpServers).filter((name) => mcpServers[name]?.disabled !== true),
      ...heard.said.flatMap(({ body }) => body.servers.map(({ server }) => server)),
    ]);
    return { servers: [...names].map((name) => this.#merged(name, heard)), missing: ofBackends(heard) };
  }

  async one(name: string): Promise<DefinitionsPage> {
    const heard = await this.#assembly.ask('definitions', { server: name }, said, surveyMs);
    if (!Object.hasOwn(this.#config().mcpServers, name) && !heard.said.some(({ body }) => body.servers.length > 0))
      throw new ApiProblem('unknown', `there is no server ${JSON.stringify(name.slice(0, 64))}`);
    return { server: this.#merged(name, heard), missing: ofBackends(heard) };
  }

  /** @throws {ApiProblem} `conflict` when the server says something else by now: nothing is approved then. */
  async approve(name: string, digests: readonly string[]): Promise<ApprovedNow> {
    const heard = await this.#assembly.ask('definitions', { server: name }, said, surveyMs);
    const places = heard.said.flatMap(({ process, body }) =>
      body.servers
        .filter(({ server, mode }) => server === name && mode !== undefined)
        .map((each) => ({ process, ...each })),
    );
    const place = places.find(({ deviations }) =>
      digests.every((digest) => deviations.some((each) => each.digest === digest)),
    );
    if (place === undefined) {
      if (places.length === 0)
        throw new ApiProblem(
          'unknown',
          `there is no server ${JSON.stringify(name.slice(0, 64))} with \`definitions: pin\` or \`warn\` at a process that answers`,
        );
      throw new ApiProblem(
        'conflict',
        places[0]?.problem ?? `server ${JSON.stringify(name)} says something else by now, or it is approved already`,
        'look at the difference again',
      );
    }
    const { said: answers } = await this.#assembly.ask(
      'definitions-approve',
      { to: place.process, server: name, approve: [...new Set(digests)] },
      done,
      actMs,
    );
    const answer = answers.find(({ process }) => process === place.process)?.body;
    if (answer === undefined)
      throw new ApiProblem(
        'conflict',
        'the process that writes it down did not answer: whether it is approved is not known',
        'look at the difference again',
      );
    if ('problem' in answer) throw new ApiProblem('conflict', answer.problem, 'look at the difference again');
    return {
      server: name,
      approved: answer.approved,
      chosen: place.deviations
        .filter(({ digest }) => digests.includes(digest))
        .map(({ kind, name: own, digest }) => `${kind} ${own} ${digest}`),
    };
  }

  #merged(name: string, { said: answers }: Heard<z.output<typeof said>>): ServerDefinitions {
    const places = answers.flatMap(({ process, body }) =>
      body.servers.filter(({ server }) => server === name).map((each) => ({ process, ...each })),
    );
    const { mcpServers } = this.#config();
    const configured = Object.hasOwn(mcpServers, name) ? mcpServers[name]?.definitions : undefined;
    const judging = places.filter(({ mode }) => mode !== undefined);
    const deviations = new Map(
      judging.flatMap((place) =>
        place.deviations.map((each) => [`${each.kind} ${each.name} ${each.digest}`, each] as const),
      ),
    );
    const mode = judging[0]?.mode ?? configured ?? 'off';
    const problem =
      judging.find((place) => place.problem !== undefined)?.problem ??
      (places.length === 0 ? 'no process that talks to it answers' : undefined);
    const more = Math.max(0, ...judging.map((place) => place.more));
    return {
      server: name,
      mode,
      ...(problem === undefined || (mode === 'off' && places.length === 0) ? {} : { problem }),
      held: Math.max(0, ...judging.map(({ held }) => held)),
      deviations: [...deviations.values()],
      ...(more === 0 ? {} : { more }),
      signs: [...(places[0]?.signs ?? [])],
      processes: judging.map(({ process }) => process),
    };
  }
}

function ofBackends({ missing }: Heard<unknown>): Definitions['missing'] {
  return missing.filter(({ role }) => role === 'backend' || role === 'all');
}
