/** What is asked of a process that runs, and done to it. */
import { alignColumns } from '../table.ts';
import { answer, answerJson, CommandProblem, runCommand } from '../outcome.ts';
import { AdminRefusal, askAdmin, type AskOptions } from './administer.ts';

type RunningOptions = AskOptions & { readonly json?: boolean };

interface SessionRow {
  readonly key: string;
  readonly endpoint: string;
  readonly principal: string;
  readonly revision: string;
  readonly state: string;
  readonly servers: readonly string[];
}

export function listSessions(options: RunningOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const { sessions, total } = JSON.parse(await asked(options, 'GET', '/sessions')) as { readonly sessions: readonly SessionRow[]; readonly total: number };
    if (options.json === true) answerJson({ sessions, total });
    else answer(`${alignColumns([['SESSION', 'STATE', 'REVISION', 'ENDPOINT', 'CALLER', 'SERVERS'], ...sessions.map(({ key, state, revision, endpoint, principal, servers }) => [key, state, revision, endpoint === '' ? '/mcp' : `/mcp/${endpoint}`, principal, servers.join(', ') || '-'])])}\n${total > sessions.length ? `and ${total - sessions.length} more\n` : ''}`);
    return 'done';
  });
}

export function restart(server: string, options: RunningOptions): Promise<void> {
  return runCommand(options.json, async () => {
    const text = await asked(options, 'POST', `/restart/${encodeURIComponent(server)}`);
    if (options.json === true) answerJson({ server, isRestarted: true });
    else answer(text);
    return 'done';
  });
}

async function asked(options: AskOptions, method: 'GET' | 'POST', path: string): Promise<string> {
  try {
    return (await askAdmin(options, method, path)).text;
  } catch (error) {
    const { message } = error as Error;
    const status = error instanceof AdminRefusal ? error.status : undefined;
    throw new CommandProblem(status === 401 || status === 403 ? 'forbidden' : status === 404 ? 'unknown' : status === undefined ? 'unreachable' : 'other', `${options.admin}: ${message}`);
  }
}
