import type { ProcessStatus } from '../compose.ts';
import { alignColumns } from '../table.ts';

export interface StatusOptions {
  readonly admin: readonly string[];
  readonly json?: boolean;
}

type Answer = { readonly admin: string; readonly status: ProcessStatus } | { readonly admin: string; readonly problem: string };

const answerMs = 5_000;

/** Asks running processes what they do. The exit status is 1 when one does not answer, or says that it cannot serve. */
export async function status({ admin, json = false }: StatusOptions): Promise<void> {
  const answers = await Promise.all(admin.map(ask));
  process.stdout.write(json ? `${JSON.stringify(answers, null, 2)}\n` : `${print(answers)}\n`);
  if (answers.some((answer) => 'problem' in answer || answer.status.problems.length > 0)) process.exitCode = 1;
}

async function ask(admin: string): Promise<Answer> {
  try {
    const response = await fetch(`http://${admin}/status`, { signal: AbortSignal.timeout(answerMs) });
    if (response.status !== 200) return { admin, problem: `it answers ${response.status}: is this the admin address of an omnibus?` };
    return { admin, status: (await response.json()) as ProcessStatus };
  } catch (error) {
    const cause = (error as Error & { readonly cause?: { readonly code?: string } }).cause?.code;
    return { admin, problem: cause === 'ECONNREFUSED' ? 'nobody listens there: is the gateway running, with this admin address?' : String(cause ?? error) };
  }
}

function print(answers: readonly Answer[]): string {
  const processes = answers.map((answer) => {
    if ('problem' in answer) return [answer.admin, '-', '-', '-', '-', answer.problem];
    const { role, uptimeSeconds, bus, sessions, problems } = answer.status;
    const held = sessions === undefined ? '-' : String(Object.values(sessions).reduce((sum, count) => sum + count, 0));
    return [answer.admin, role, `${uptimeSeconds} s`, `${bus.kind}${bus.isConnected ? '' : ', cut off'}${bus.reconnects > 0 ? `, ${bus.reconnects} reconnects` : ''}`, held, problems.join('; ') || 'ready'];
  });
  const servers = answers.flatMap((answer) => ('problem' in answer ? [] : (answer.status.servers ?? []).map((each) => [
    each.server, answer.admin, each.status, each.revision ?? '-', String(each.tools), String(each.prompts), String(each.resources), each.status === 'down' ? (each.problem ?? '') : '',
  ])));
  return [
    alignColumns([['PROCESS', 'ROLE', 'UPTIME', 'BUS', 'SESSIONS', 'STATE'], ...processes]),
    ...(servers.length === 0 ? [] : ['', alignColumns([['SERVER', 'PROCESS', 'STATE', 'REVISION', 'TOOLS', 'PROMPTS', 'RESOURCES', 'PROBLEM'], ...servers])]),
  ].join('\n');
}
