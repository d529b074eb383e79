/** Lists, requests, decides and ends rights for a time. */
import type { Grant, GrantList } from '@omnibus/admin-api';
import { printable } from '@omnibus/protocol';
import { answer, answerEither, answerJson, answerList, runCommand } from '../output/outcome.ts';
import type { AskOptions } from './admin-port.ts';
import { askApi } from './api.ts';
import { durationOf } from './durations.ts';

export interface GrantsOptions extends AskOptions {
  readonly all?: boolean;
  readonly json?: boolean;
}

export interface RequestOptions extends GrantsOptions {
  readonly for: string;
  readonly reason: string;
}

export interface DecideGrantOptions extends GrantsOptions {
  readonly for?: string;
  readonly reason?: string;
}

export function listGrants({ all = false, json = false, ...who }: GrantsOptions): Promise<void> {
  return runCommand(json, async () => {
    const { grants, offers } = await askApi(who, 'grants', '/grants');
    const found = all ? grants : grants.filter(({ state }) => state === 'active' || state === 'requested');
    if (json) {
      answerJson({ grants: found, offers });
      return;
    }
    const rows = found.map((each) => [
      each.id,
      each.state,
      whatOf(each),
      `${each.who[0] ?? each.principal}${each.client === undefined ? '' : ` (${each.client})`}`,
      new Date(each.until).toISOString(),
      each.by ?? '',
      each.because ?? '',
    ]);
    answerList(false, found, {
      head: ['ID', 'STATE', 'WHAT', 'WHO', 'UNTIL', 'BY', 'REASON'],
      rows,
      none: 'no right for a time waits or is in force',
    });
    if (offers.length > 0) answer(`\n${offers.map(offerText).join('\n')}\n`);
  });
}

export function requestGrant(name: string, { for: time, reason, json = false, ...who }: RequestOptions): Promise<void> {
  return runCommand(json, async () => {
    const forMs = durationOf('--for', time) ?? 0;
    const { id, state } = await askApi(who, 'requestGrant', '/grants', 'POST', { name, forMs, because: reason });
    answerEither(json, { id, state }, `${id} waits for an approver: omnibus grants list shows the decision\n`);
  });
}

export function decideGrant(
  id: string,
  approve: boolean,
  { for: time, reason, json = false, ...who }: DecideGrantOptions,
): Promise<void> {
  return runCommand(json, async () => {
    const forMs = durationOf('--for', time);
    const { state, until } = await askApi(who, 'decideGrant', `/grants/${encodeURIComponent(id)}`, 'POST', {
      approve,
      forMs,
      reason,
    });
    const till = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
    answerEither(
      json,
      { id, state, ...(until === undefined ? {} : { until }) },
      `${printable(id)} is ${state}${till}\n`,
    );
  });
}

export function endGrant(id: string, { json = false, ...who }: GrantsOptions): Promise<void> {
  return runCommand(json, async () => {
    const { state } = await askApi(who, 'endGrant', `/grants/${encodeURIComponent(id)}`, 'DELETE');
    answerEither(json, { id, state }, `${printable(id)} is ${state}\n`);
  });
}

/** The right, written as in rules. */
function whatOf({ calls, access }: Grant): string {
  if (access !== undefined) return `grant:${access.name}`;
  return calls === undefined
    ? ''
    : `${calls.kind === undefined ? '' : `${calls.kind}:`}${calls.server}/${calls.tool} (rule ${calls.rule})`;
}

function offerText({ name, group, lastsMs, because }: GrantList['offers'][number]): string {
  const gives = group === undefined ? '' : `, the group ${printable(group)}`;
  const why = because === undefined ? '' : `: ${printable(because)}`;
  return `you may ask for ${printable(name)}${gives}, for at most ${Math.floor(lastsMs / 60_000)} min${why}`;
}
