/** The operations of the API about labels of conversations. */
import type { LabelledConversation } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { z } from 'zod';
import type { Administrator } from '../roles.ts';
import { ApiProblem, withoutEffect } from './api-problem.ts';
import type { CallHolders } from './call-holders.ts';
import { obstacleOf, sentConversation, type LabelPerson, type SentConversation } from './label-desk.ts';
import type { ApiOptions } from './options.ts';
import type { Handlers } from './site.ts';

interface LabelHandlersOptions extends Pick<ApiOptions, 'access' | 'note' | 'denied'> {
  readonly holders: () => CallHolders;
}

const listed = z.object({ conversations: z.array(sentConversation), total: z.number() });
const outcome = z.union([
  z.object({ conversation: sentConversation, cleared: sentConversation.shape.labels.element }),
  z.object({ kind: z.enum(['over', 'unsigned', 'forbidden', 'unknown']), problem: z.string() }),
]);

/** The act is on record by this name. */
const act = 'labels.clear';

export function labelHandlers({
  access,
  note,
  denied,
  holders,
}: LabelHandlersOptions): Pick<Handlers, 'labels' | 'clearLabel'> {
  return {
    labels: async ({ request, query }) => {
      const by = access.of(request);
      const {
        answer: { conversations, total },
        missing,
      } = await holders().first('labels', { of: sentAs(by), ...query }, listed);
      return { conversations: conversations.map((each) => shown(each, by)), total, missing };
    },
    clearLabel: async ({ request, given: id, body: { label, reason } }) => {
      const by = access.of(request);
      try {
        if (reason.trim() === '') throw new ApiProblem('invalid', 'say why: the reason is on record');
        const { process, answer: known } = await holders().first(
          'labels',
          { of: sentAs(by), conversation: id },
          listed,
        );
        if (known.total === 0)
          throw problemOf({ kind: 'unknown', problem: `there is no conversation ${printable(id, 64)} with labels` });
        const answer = await holders().decide(process, 'label-clear', { id, label, ...sentAs(by) }, outcome);
        if (!('cleared' in answer)) throw problemOf(answer);
        const { conversation, cleared } = answer;
        const { server, item, rule, at } = cleared;
        note(request, act, {
          conversation: id,
          label,
          reason,
          caller: conversation.who[0] ?? conversation.principal,
          of_tenant: conversation.tenant,
          of_client: conversation.client,
          server,
          tool: item,
          rule,
          labelled_at: new Date(at).toISOString(),
        });
        return { conversation: id, label, server, item, at };
      } catch (error) {
        if (error instanceof ApiProblem && withoutEffect.has(error.reason))
          denied(request, act, { conversation: id.slice(0, 64), label, reason, problem: error.message });
        throw error;
      }
    },
  };
}

function problemOf({ kind, problem }: Extract<z.output<typeof outcome>, { readonly kind: string }>): ApiProblem {
  switch (kind) {
    case 'forbidden':
      return new ApiProblem('forbidden', problem);
    case 'unknown':
      return new ApiProblem('unknown', problem, 'omnibus labels list shows those that you may see');
    case 'unsigned':
      return new ApiProblem(
        'conflict',
        problem,
        'do all processes have the same sealing key, and clocks that are right?',
      );
    case 'over':
      return new ApiProblem('conflict', problem, 'omnibus labels list shows the present state');
  }
}

function sentAs({ roles, facts, tenant }: Administrator): LabelPerson {
  return { roles, facts, tenant };
}

function shown(record: SentConversation, by: Administrator): LabelledConversation {
  const obstacle = obstacleOf(by, record);
  return { ...record, mayClear: obstacle === undefined, ...(obstacle === undefined ? {} : { obstacle }) };
}
