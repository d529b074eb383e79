/** The operations that change servers in the configuration file, under the same checks as `omnibus add` and `omnibus remove`. */
import type { AnswerOf } from '@omnibus/admin-api';
import { isToken } from '@omnibus/protocol';
import type { ServerEditor } from '../server-editor.ts';
import { ApiProblem } from './api-problem.ts';
import type { ApiOptions } from './options.ts';
import type { ApiRequest, Handlers } from './site.ts';

type EntryHandlersOptions = Pick<ApiOptions, 'config' | 'editor' | 'reload' | 'note' | 'denied'> & {
  readonly history: Pick<ApiOptions['history'], 'source'>;
};

export function entryHandlers(options: EntryHandlersOptions): Pick<Handlers, 'entry' | 'changeEntry'> {
  return {
    entry: ({ given }) => inWords(() => editorFor(options, given).read(given)),
    changeEntry: async (asked) => {
      try {
        return await changed(options, asked);
      } catch (error) {
        if (error instanceof ApiProblem && error.reason === 'mode')
          options.denied(asked.request, 'servers.change', { server: asked.given, problem: error.message });
        throw error;
      }
    },
  };
}

/** @throws {ApiProblem} */
async function changed(
  options: EntryHandlersOptions,
  { request, given, body: { entry, digest } }: ApiRequest<'changeEntry'>,
): Promise<AnswerOf<'changeEntry'>> {
  const { config, reload, note } = options;
  const { write, starts, ...shown } = await inWords(() => editorFor(options, given).plan(given, entry));
  if (starts !== undefined && config().console.edit !== 'programs')
    throw new ApiProblem(
      'mode',
      `${given} would start a program on the machine of the gateway, and console.edit permits servers at addresses only`,
      'run omnibus add there, or set console: { edit: programs }: who may then use this starts programs as the user of the gateway',
    );
  const answer = {
    ...shown,
    difference: [...shown.difference],
    warnings: [...shown.warnings],
    ...(starts === undefined ? {} : { starts }),
  };
  if (digest === undefined) return { ...answer, isWritten: false, problems: [] };
  if (digest !== shown.digest)
    throw new ApiProblem('conflict', `${shown.file} has changed since`, 'look at the difference again');
  await inWords(write);
  note(request, 'servers.change', {
    server: given,
    change: entry === null ? 'remove' : 'set',
    file: shown.file,
    starts,
  });
  const { problems } = await reload();
  return { ...answer, isWritten: true, problems: [...problems] };
}

/** @throws {ApiProblem} where the file of this process is not the place to change a server. */
function editorFor({ config, editor, history }: EntryHandlersOptions, server: string): ServerEditor {
  if (!isToken(server))
    throw new ApiProblem('invalid', 'this is no name of a server', 'names are 1 to 64 letters, digits, "_" and "-"');
  if (config().console.edit === 'no')
    throw new ApiProblem(
      'mode',
      'servers are not changed here: the option console.edit is "no"',
      `run omnibus add or omnibus remove, or set console: { edit: addresses } in the configuration`,
    );
  if (history.source.discovered.has(server))
    throw new ApiProblem(
      'conflict',
      `${server} is from Kubernetes`,
      `change it there: kubectl edit mcpserver ${server}`,
    );
  if (config().bus !== 'memory')
    throw new ApiProblem(
      'conflict',
      'the processes of this gateway have configurations of their own, which a deployment writes',
      'change the server where the configuration is from, such as the values of the chart',
    );
  if (editor === undefined)
    throw new ApiProblem('conflict', 'this process follows no configuration file', 'start it with --config FILE');
  return editor;
}

/** @throws {ApiProblem} with the words of an error, which are for the operator. */
async function inWords<Result>(work: () => Result): Promise<Result> {
  try {
    return await Promise.resolve(work());
  } catch (error) {
    throw error instanceof ApiProblem ? error : new ApiProblem('conflict', (error as Error).message);
  }
}
