/** Signs in for a server behind a gateway: opens the page of the sign-in, waits for its end, and passes on the code of the page if one is required. */
import { setTimeout as delay } from 'node:timers/promises';
import { isObject, printable, signInName, type JsonObject } from '@omnibus/protocol';
import type { Opened } from '../client/open.ts';
import { answer, answerJson, notice, runCommand } from '../output/outcome.ts';
import { CommandProblem } from '@omnibus/client';
import { openBrowser, showsPages } from '../desktop/browser.ts';
import { all, using, type Requesting, type UseOptions } from './use.ts';

export interface SignInForOptions extends UseOptions {
  /** False with `--no-browser`: the address is only printed. */
  readonly browser?: boolean;
}

/** Sign-ins that one command starts; the next one where the last expired before the user finished it. */
const maxRounds = 3;
/** Time limit in milliseconds for the gateway to read the server's lists again after a sign-in. */
const listMs = 15_000;

export function signInFor(server: string, options: SignInForOptions): Promise<void> {
  return runCommand(options.json, () =>
    using({ ...options, endpoint: options.endpoint ?? server }, async (opened, request) => {
      let isNew = false;
      for (let round = 0; await offersSignIn(opened, request, server); round += 1) {
        if (round === maxRounds)
          throw new CommandProblem('other', `the sign-in for ${JSON.stringify(server)} did not go through`, {
            advice: 'Try again, and go through with what the page says.',
          });
        isNew = true;
        await signIn(server, opened, request, options);
        if (opened.questions.declined.length > 0) return 'unanswered';
      }
      if (options.json === true) answerJson({ server, isSignedIn: true, wasSignedIn: !isNew });
      else answer(isNew ? `signed in to ${printable(server)}\n` : `${printable(server)} asks for no sign-in now\n`);
      return 'done';
    }),
  );
}

async function signIn(
  server: string,
  { client, on, questions }: Opened,
  { signal }: Requesting,
  { browser = true, quiet }: SignInForOptions,
): Promise<void> {
  const done = Promise.withResolvers<void>();
  let waited: unknown;
  const completed = new Set<unknown>();
  const end = on('notifications/elicitation/complete', ({ elicitationId }) => {
    completed.add(elicitationId);
    if (elicitationId === waited) done.resolve();
  });
  const listed = Promise.withResolvers<void>();
  const endLists = on('notifications/tools/list_changed', () => listed.resolve());
  try {
    const asked = await client.request('tools/call', { name: signInName, arguments: {} }, { signal }).then(
      () => undefined,
      (error: unknown) => addressIn(error),
    );
    if (asked !== undefined) {
      waited = asked.elicitationId;
      const opens = browser && process.stderr.isTTY && showsPages();
      if (quiet !== true) notice(`omnibus: sign in to ${printable(server)} with your browser: ${asked.url}`);
      if (opens) openBrowser(asked.url);
      if (!completed.has(waited)) await Promise.race([done.promise, aborted(signal)]);
    }
    if (questions.declined.length > 0) return;
    // The gateway reads the lists of the server again once the user is signed in.
    await Promise.race([
      listed.promise,
      aborted(signal),
      delay(asked === undefined ? listMs : 1_000, undefined, { ref: false }),
    ]);
  } finally {
    end();
    endLists();
  }
}

/** The address of the sign-in in the data of an error (URLElicitationRequired). @returns undefined where the user is signed in already. @throws the error, if it means anything else. */
function addressIn(error: unknown): { readonly url: string; readonly elicitationId: unknown } | undefined {
  if (!(error instanceof CommandProblem)) throw error;
  const [first] =
    isObject(error.data) && Array.isArray(error.data['elicitations'])
      ? (error.data['elicitations'] as readonly unknown[])
      : [];
  if (isObject(first) && typeof first['url'] === 'string')
    return { url: first['url'], elicitationId: first['elicitationId'] };
  // The user is signed in, so the call reached the server, which has no such tool.
  if (error.exit === 'usage' || error.exit === 'unknown' || error.exit === 'other') return undefined;
  throw error;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

/** Whether the gateway lists the tool that stands for a server until the user has signed in. */
async function offersSignIn(opened: Opened, request: Requesting, server: string): Promise<boolean> {
  return (await all(opened, 'tools', request)).some(
    (tool: JsonObject) => tool['name'] === signInName && tool['title'] === `Sign in to ${server}`,
  );
}
