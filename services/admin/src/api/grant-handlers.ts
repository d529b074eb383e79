/** The operations of the API about rights for a time. */
import type { IncomingMessage } from 'node:http';
import type { Grant } from '@omnibus/admin-api';
import type { JsonObject } from '@omnibus/protocol';
import { z } from 'zod';
import type { Approver } from '../approval-rules.ts';
import type { Administrator } from '../roles.ts';
import { ApiProblem, withoutEffect } from './api-problem.ts';
import type { CallHolders } from './call-holders.ts';
import { obstacleOf } from './grant-acts.ts';
import { sentGrant, sentOffer, type SentGrant } from './grant-desk.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

interface GrantHandlersOptions extends Pick<ApiOptions, 'access' | 'note' | 'denied'> {
  readonly holders: () => CallHolders;
}

const listed = z.object({ grants: z.array(sentGrant), offers: z.array(sentOffer) });
const outcome = z.union([
  z.object({ grant: sentGrant }),
  z.object({ kind: z.enum(['over', 'unsigned', 'forbidden', 'unknown']), problem: z.string() }),
]);

export function grantHandlers({
  access,
  note,
  denied,
  holders,
}: GrantHandlersOptions): Pick<Handlers, 'grants' | 'requestGrant' | 'decideGrant' | 'endGrant'> {
  /** Makes an act, which is on record whether or not it has an effect. */
  const acted = async (request: IncomingMessage, name: string, act: JsonObject): Promise<SentGrant> => {
    try {
      const grant = await perform(holders(), act, access.of(request));
      const { calls, access: of } = grant;
      const about = { grant: grant.id, name: of?.name, server: calls?.server, tool: calls?.tool, rule: calls?.rule };
      note(request, name, { ...about, reason: grant.reason ?? grant.because, for_ms: of?.forMs, until: grant.until });
      return grant;
    } catch (error) {
      if (error instanceof ApiProblem && withoutEffect.has(error.reason))
        denied(request, name, { grant: String(act['id'] ?? act['name']), problem: error.message });
      throw error;
    }
  };
  return {
    grants: async ({ request }) => {
      const by = access.of(request);
      const {
        answer: { grants, offers },
        missing,
      } = await holders().first('grants', { of: sentAs(by) }, listed);
      const all = grants.map((record) => shown(record, by));
      const inOrder = (['requested', 'active'] as const).flatMap((state) => all.filter((each) => each.state === state));
      return {
        at: new Date().toISOString(),
        grants: [...inOrder, ...all.filter(({ state }) => state !== 'requested' && state !== 'active')],
        offers: offers.map(({ approvers: _approvers, ...offer }) => offer),
        missing,
      };
    },
    requestGrant: async ({ request, body }) => {
      const { id } = await acted(request, 'grants.request', { act: 'request', ...body });
      return { id, state: 'requested' as const };
    },
    decideGrant: async ({ request, given, body }) => {
      const name = body.approve ? 'grants.approve' : 'grants.refuse';
      const { id, state, until } = await acted(request, name, { act: 'decide', id: given, ...body } as JsonObject);
      return state === 'active' ? { id, state, until } : { id, state: 'refused' as const };
    },
    endGrant: async ({ request, given }) => {
      const { id, state } = await acted(request, 'grants.end', { act: 'end', id: given });
      return { id, state: state === 'withdrawn' || state === 'refused' ? state : ('ended' as const) };
    },
  };
}

async function perform(holders: CallHolders, act: JsonObject, by: Administrator): Promise<SentGrant> {
  const { process } = await holders.first('grants', { of: sentAs(by) }, listed);
  const answer = await holders.decide(process, 'grant-act', { ...act, by: by.name, ...sentAs(by) }, outcome);
  if ('grant' in answer) return answer.grant;
  if (answer.kind === 'forbidden') throw new ApiProblem('forbidden', answer.problem);
  if (answer.kind === 'unknown')
    throw new ApiProblem('unknown', answer.problem, 'omnibus grants list shows those that you may see');
  throw new ApiProblem(
    'conflict',
    answer.problem,
    answer.kind === 'unsigned'
      ? 'do all processes have the same sealing key, and clocks that are right?'
      : 'omnibus grants list shows the present state',
  );
}

function sentAs({ roles, facts }: Administrator): Approver {
  return { roles, facts };
}

function shown({ approvers, access, ...record }: SentGrant, by: Administrator): Grant {
  const isOver = record.until <= Date.now();
  const state = isOver && (record.state === 'active' || record.state === 'requested') ? 'expired' : record.state;
  const obstacle = state === 'requested' ? obstacleOf({ ...record, approvers }, by) : undefined;
  return {
    ...record,
    ...(access === undefined ? {} : { access: { name: access.name, forMs: access.forMs } }),
    state,
    isOwn: by.facts !== undefined && by.facts.principal === record.principal,
    mayDecide: state === 'requested' && obstacle === undefined,
    ...(obstacle === undefined ? {} : { obstacle }),
  };
}
