import type { ProcessStatus } from '../admin/status.ts';
import { alignColumns } from '../table.ts';
import { askAdmin, type AskOptions } from './administer.ts';

export interface StatusOptions extends Omit<AskOptions, 'admin'> {
  readonly admin: readonly string[];
  readonly json?: boolean;
}

type Answer = { readonly admin: string; readonly status: ProcessStatus } | { readonly admin: string; readonly problem: string };

/** Shows the status of running processes, which it asks at their admin ports. The exit status is 1 when one does not answer, or says that it cannot serve. */
export async function status({ admin, json = false, ...who }: StatusOptions): Promise<void> {
  const answers = await Promise.all(admin.map((each) => ask({ ...who, admin: each })));
  process.stdout.write(json ? `${JSON.stringify(answers, null, 2)}\n` : `${print(answers)}\n`);
  if (answers.some((answer) => 'problem' in answer || answer.status.problems.length > 0)) process.exitCode = 1;
}

async function ask(options: AskOptions): Promise<Answer> {
  const { admin } = options;
  try {
    const { text } = await askAdmin(options, 'GET', '/status');
    return { admin, status: JSON.parse(text) as ProcessStatus };
  } catch (error) {
    return { admin, problem: (error as Error).message };
  }
}

function print(answers: readonly Answer[]): string {
  const processes = answers.map((answer) => {
    if ('problem' in answer) return [answer.admin, '-', '-', '-', '-', answer.problem];
    const { role, uptimeSeconds, bus, sessions, problems } = answer.status;
    const held = sessions === undefined ? '-' : String(Object.values(sessions).reduce((sum, count) => sum + count, 0));
    return [answer.admin, role, `${uptimeSeconds} s`, `${bus.kind}${bus.isConnected ? '' : ', disconnected'}${bus.reconnects > 0 ? `, ${bus.reconnects} reconnects` : ''}`, held, problems.join('; ') || 'ready'];
  });
  const servers = answers.flatMap((answer) => ('problem' in answer ? [] : (answer.status.servers ?? []).map((each) => [
    each.server, answer.admin, each.status, each.revision ?? '-', String(each.tools), String(each.prompts), String(each.resources), each.status === 'down' ? (each.problem ?? '') : '',
  ])));
  return [
    alignColumns([['PROCESS', 'ROLE', 'UPTIME', 'BUS', 'SESSIONS', 'STATE'], ...processes]),
    ...(servers.length === 0 ? [] : ['', alignColumns([['SERVER', 'PROCESS', 'STATE', 'REVISION', 'TOOLS', 'PROMPTS', 'RESOURCES', 'PROBLEM'], ...servers])]),
  ].join('\n');
}
