/** Calls that were watched at this process, and the last that failed anywhere. */
import {
  call,
  failure,
  type Call,
  type CallPage,
  type Calls,
  type Failure,
  type Failures,
  type Missing,
  type WatchFilter,
} from '@omnibus/admin-api';
import { z } from 'zod';
import { ApiProblem } from './api-problem.ts';
import type { Assembly } from './assembly.ts';
import type { TapDesk } from './tap-desk.ts';

const failuresSaid = z.object({ failures: z.array(call.omit({ processes: true })) });

export class CallBoard {
  readonly #assembly: Assembly;
  readonly #desk: TapDesk;

  constructor(assembly: Assembly, desk: TapDesk) {
    this.#assembly = assembly;
    this.#desk = desk;
  }

  async failures(): Promise<Failures> {
    const { said, missing } = await this.#assembly.ask('failures', {}, failuresSaid);
    const failures: Failure[] = said.flatMap(({ process, body }) =>
      body.failures.map((each) => failure.parse({ ...each, process, processes: [process] })),
    );
    return { failures: failures.toSorted((one, other) => other.at - one.at), missing };
  }

  async calls(filter: WatchFilter): Promise<Calls> {
    const { failures, missing } = await this.failures();
    const watched = this.#desk.calls;
    const known = new Set(watched.map(({ tag }) => tag));
    const all: readonly Call[] = [
      ...watched,
      ...failures.filter(({ tag }) => !known.has(tag)).map(({ process: _process, ...rest }) => rest),
    ];
    return { calls: all.filter((each) => isMeant(filter, each)).toSorted((one, other) => other.at - one.at), missing };
  }

  async call(tag: string): Promise<CallPage> {
    const events = [...this.#desk.eventsOf(tag)];
    const found: { readonly calls: readonly Call[]; readonly missing: Missing } = await this.calls({});
    const one = found.calls.find((each) => each.tag === tag);
    if (one === undefined)
      throw new ApiProblem(
        'unknown',
        'nothing is known of this call',
        'calls are known while somebody watches them (omnibus calls --follow), and those that fail for a while after',
      );
    const inner = found.calls.filter(({ run }) => run === tag).toSorted((first, other) => first.at - other.at);
    return { call: one, events, inner, missing: found.missing };
  }
}

function isMeant({ server, tool, client, session, outcome, minMs }: WatchFilter, each: Call): boolean {
  return (
    (server === undefined || each.server === server) &&
    (tool === undefined || each.tool === tool || each.name === tool) &&
    (client === undefined || each.client?.toLowerCase().includes(client.toLowerCase()) === true) &&
    (session === undefined || each.session?.startsWith(session) === true) &&
    (outcome === undefined || each.outcome === outcome) &&
    (minMs === undefined || (each.ms ?? 0) >= minMs)
  );
}
