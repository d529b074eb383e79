/** The findings of `omnibus doctor` about a gateway that runs: what its overview says, and its servers. */
import type { Finding as OverviewFinding } from '@omnibus/admin-api';
import { CommandProblem } from '@omnibus/client';
import { counted } from '../output/counted.ts';
import type { AskOptions } from './admin-port.ts';
import { askApi } from './api.ts';
import type { Finding } from './finding.ts';

const states: Readonly<Record<OverviewFinding['severity'], Finding['state']>> = {
  error: 'bad',
  warning: 'warning',
  note: 'good',
};

/** @throws {CommandProblem} when no gateway answers at the address, or it does not tell this caller. */
export async function gatewayFindings(options: AskOptions): Promise<readonly Finding[]> {
  const [{ version, counts, findings }, { servers }, { file, rejected }] = await Promise.all([
    askApi(options, 'overview', '/overview'),
    askApi(options, 'servers', '/servers'),
    askApi(options, 'configuration', '/configuration'),
  ]);
  return [
    {
      about: 'gateway',
      state: 'good',
      text: `version ${version} runs at ${options.admin}: ${counts.processes} ${counts.processes === 1 ? 'process' : 'processes'}, ${counts.up} of ${counted(counts.servers, 'server')} up, ${counted(counts.sessions, 'session')}`,
    },
    ...(rejected === undefined
      ? []
      : [
          {
            about: 'gateway',
            state: 'bad' as const,
            text: `${file} is not applied, and what was in force before stays: ${rejected.problems.join('; ')}`,
            advice: `Correct it: omnibus check ${file}`,
          },
        ]),
    ...findings.map(({ severity, text, advice }): Finding => ({
      about: 'gateway',
      state: states[severity],
      text,
      ...(advice === undefined ? {} : { advice }),
    })),
    ...servers.flatMap(({ name, repairs = [] }) =>
      repairs.map(({ reads, count, example }): Finding => ({
        about: `server ${name}`,
        state: 'warning',
        text: `repaired ${counted(count, 'time')}: the gateway reads ${reads}, as at ${example}`,
      })),
    ),
  ];
}

/** The same; where nothing can be read of a gateway, the reason is the only finding. */
export async function tellingGatewayFindings(options: AskOptions): Promise<readonly Finding[]> {
  try {
    return await gatewayFindings(options);
  } catch (error) {
    if (!(error instanceof CommandProblem)) throw error;
    const { message: text, advice } = error;
    return [{ about: 'gateway', state: 'unchecked', text, ...(advice === undefined ? {} : { advice }) }];
  }
}

/** The address at which a running gateway takes clients; undefined where it does not tell, and where a changed one waits for its next start. */
export async function listenOf(options: AskOptions): Promise<string | undefined> {
  try {
    const { values, restart } = await askApi(options, 'configuration', '/configuration');
    const listen = values.find(({ path }) => path === 'listen')?.value;
    return typeof listen === 'string' && !restart.includes('listen') ? listen : undefined;
  } catch (error) {
    if (!(error instanceof CommandProblem)) throw error;
    return undefined; // The warning stays.
  }
}
