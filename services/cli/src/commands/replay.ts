/** Makes a call again that the gateway knows of, at the server that it went to or at another one (`omnibus calls replay`). */
import type { Replay } from '@omnibus/admin-api';
import { runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { askApi, queryOf, type ApiOptions } from './api.ts';
import { tagOf } from './calls.ts';
import { callTool, type CallOptions } from './use.ts';

export interface ReplayOptions extends ApiOptions, Omit<CallOptions, 'json' | 'tokens' | 'endpoint' | 'config'> {
  readonly server?: string;
  readonly json?: boolean;
}

export async function replayCall(tag: string, options: ReplayOptions): Promise<void> {
  let found: (Replay & { readonly args: string }) | undefined;
  await runCommand(options.json, async () => {
    const replay = await askApi(
      options,
      'replay',
      `/calls/${encodeURIComponent(await tagOf(tag, options))}/replay${queryOf({ server: options.server })}`,
    );
    const args = options.args ?? replay.arguments;
    if (args === undefined)
      throw new CommandProblem('usage', 'the arguments of this call are not known', {
        advice:
          'Give them with --args; the gateway keeps values only of calls that are watched with them (console.payloads).',
      });
    found = { ...replay, args };
  });
  if (found === undefined) return;
  const { name, endpoint, args } = found;
  await callTool(name, [], { ...options, args, ...(endpoint === '' ? {} : { endpoint }) });
}
