/** Lists the sessions of a running gateway, and restarts its connections to servers. */
import { printable } from '@omnibus/protocol';
import { answerEither, answerList, notice, runCommand } from '../output/outcome.ts';
import type { RecentClient, SessionRow } from '@omnibus/admin-api';
import { askApi, queryOf, type ApiOptions } from './api.ts';
import { durationOf } from './durations.ts';
import { sayMissing } from './calls.ts';

export interface SessionsOptions extends ApiOptions {
  readonly client?: string;
  readonly endpoint?: string;
}

/** Bound on the pages that are read, of 100 sessions each; a gateway with more needs a filter. */
const maxPages = 100;

export function listSessions(options: SessionsOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { client, endpoint } = options;
    const ask = (cursor?: string): ReturnType<typeof askApi<'sessions'>> =>
      askApi(options, 'sessions', `/sessions${queryOf({ client, endpoint, cursor })}`);
    const first = await ask();
    const { total, clients, missing } = first;
    const sessions = [...first.sessions];
    let { next } = first;
    for (let page = 1; next !== undefined && page < maxPages; page += 1) {
      const more = await ask(next);
      sessions.push(...more.sessions);
      ({ next } = more);
    }
    const row = (each: SessionRow | RecentClient, key: string, state: string, servers: readonly string[]): string[] => [
      key,
      printable(each.client?.name ?? '-'),
      state,
      each.revision,
      each.endpoint === '' ? '/mcp' : `/mcp/${each.endpoint}`,
      each.principal,
      servers.join(', ') || '-',
      each.process,
    ];
    const rows = [
      ...sessions.map((each) => row(each, each.key, each.state, each.servers)),
      ...clients.map((each) => row(each, '-', `${each.requests} ${each.requests === 1 ? 'request' : 'requests'}`, [])),
    ];
    const head = ['SESSION', 'CLIENT', 'STATE', 'REVISION', 'ENDPOINT', 'CALLER', 'SERVERS', 'PROCESS'];
    answerList(options.json, { sessions, total, clients, missing }, { head, rows });
    if (total > sessions.length) notice(`and ${total - sessions.length} more`);
    sayMissing(missing);
  });
}

export interface PauseOptions extends ApiOptions {
  readonly for?: string;
  readonly because?: string;
}

export function pause(server: string, { for: lasts, because, ...options }: PauseOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const forMs = durationOf('--for', lasts);
    const done = await askApi(
      options,
      'pause',
      `/servers/${encodeURIComponent(server)}/pause${queryOf({ forMs, because })}`,
      'POST',
    );
    answerEither(
      options.json,
      done,
      `${printable(server)} is paused${done.until === undefined ? '' : ` until ${done.until}`}: nothing new is sent to it, and what runs there goes on\n`,
    );
  });
}

export function resume(server: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const done = await askApi(options, 'resume', `/servers/${encodeURIComponent(server)}/resume`, 'POST');
    answerEither(options.json, done, `${printable(server)} is not paused any more\n`);
  });
}

export function restart(server: string, options: ApiOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const done = await askApi(options, 'restart', `/servers/${encodeURIComponent(server)}/restart`, 'POST');
    answerEither(
      options.json,
      done,
      `${printable(server)} is connected to anew${done.of === 1 ? '' : ` by ${done.done} of ${done.of} processes`}\n`,
    );
    sayMissing(done.missing);
    return done.done < done.of ? 'unreachable' : 'done';
  });
}
