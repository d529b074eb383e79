/** Shows and revokes the programs that a user has allowed at the authorization server of a running gateway. */
import { printable } from '@omnibus/protocol';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { alignColumns } from '../output/table.ts';
import { askApi, queryOf, type ApiOptions } from './api.ts';

const maxShown = 80;

export function showPrograms(name: string, { json = false, ...options }: ApiOptions): Promise<void> {
  return runCommand(json, async () => {
    const seen = await askApi(options, 'programs', `/programs${queryOf({ user: name })}`);
    if (json) {
      answerJson(seen);
      return;
    }
    const { user, groups, programs, agents, agentsProblem } = seen;
    const list = (head: readonly string[], rows: readonly (readonly string[])[], none: string): string =>
      rows.length === 0 ? `${none}\n` : `${alignColumns([head, ...rows])}\n`;
    const texts = (all: readonly string[]): string => printable(all.join(', ') || '-', maxShown);
    answer(
      [
        `${printable(user, 200)}${groups.length === 0 ? '' : `, in ${texts(groups)}`}\n`,
        list(
          ['PROGRAM', 'CLIENT', 'AT', 'SCOPES', 'SINCE', 'LAST USE'],
          programs.map((each) => [
            each.id,
            printable(each.name ?? each.client, maxShown),
            texts(each.hosts),
            texts(each.scopes),
            each.since.slice(0, 10),
            each.lastUse,
          ]),
          'the user has allowed no program',
        ),
        ...(agents.length === 0
          ? []
          : [
              list(
                ['AGENT', 'STATE', 'LAST USE'],
                agents.map((each) => [printable(each.name, maxShown), each.state, each.lastUse ?? '-']),
                '',
              ),
            ]),
        ...(agentsProblem === undefined ? [] : [`no agents are shown: ${printable(agentsProblem, 500)}\n`]),
      ].join(''),
    );
  });
}

export function revokeProgram(user: string, program: string, { json = false, ...options }: ApiOptions): Promise<void> {
  return runCommand(json, async () => {
    const revoked = await askApi(options, 'revokeProgram', `/programs/${encodeURIComponent(program)}`, 'POST', {
      user,
    });
    if (json) answerJson(revoked);
    else
      notice(
        `omnibus: ${printable(revoked.client, 200)} has no access any more in the name of ${printable(revoked.user, 200)}`,
      );
  });
}
