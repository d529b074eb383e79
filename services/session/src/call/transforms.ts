/** The transforms that one call passes, in one. */
import type { View } from '@omnibus/catalog';
import type { Caller, ClientInfo, SessionKey } from '@omnibus/protocol';
import type { CallStream, ForwardedCall } from './client-port.ts';
import type { Destination } from './plan.ts';
import type { CallTransform } from './transform.ts';

/** A call, a request about its task, or a question outside calls (`question`). */
type TransformedCall = { readonly method: string } & Partial<Pick<ForwardedCall<CallStream>, 'screen'>>;

/** The client that gets the messages. */
export interface ServedClient {
  /** The caller as of its latest request. */
  readonly asking: Caller;
  /** Undefined for a request without a session. */
  readonly session: SessionKey | undefined;
  /** Name and version that the client gives itself. */
  readonly info: ClientInfo | undefined;
  /** The key by which a client without sessions tells its conversations apart. */
  readonly conversation?: string | undefined;
  /** Whether it is a script of the client, and no model reads the results. */
  readonly isInner?: boolean;
  /** Undefined if the endpoint has left the configuration. */
  view(): View | undefined;
}

/** Makes the transforms of calls. */
export interface CallTransformer {
  /** @returns undefined if it changes nothing of the call. */
  of(
    call: TransformedCall,
    to: Pick<Destination, 'server' | 'tool' | 'task'>,
    client: ServedClient,
  ): CallTransform | undefined;
}

/** @returns undefined if nothing changes. @param transformers in the order in which the messages of the server pass them. The client's answers pass them in reverse. */
export function transformOf(
  transformers: readonly CallTransformer[],
  call: TransformedCall,
  to: Pick<Destination, 'server' | 'tool' | 'task'>,
  client: ServedClient,
): CallTransform | undefined {
  let made: CallTransform | undefined;
  for (const transformer of transformers) {
    const next = transformer.of(call, to, client);
    if (next !== undefined) made = made === undefined ? next : inOrder(made, next);
  }
  return made;
}

function inOrder(first: CallTransform, second: CallTransform): CallTransform {
  return {
    progress: (event, then) => first.progress(event, (made) => second.progress(made, then)),
    said: (event, given, then) => first.said(event, given, (made) => second.said(event, made, then)),
    question: (event, then, refuse) => first.question(event, (made) => second.question(made, then, refuse), refuse),
    after: (act) => first.after(() => second.after(act)),
    outcome: (given, then) => first.outcome(given, (made) => second.outcome(made, then)),
    passesOutcomes: first.passesOutcomes === true && second.passesOutcomes === true,
    asker: (waits) => second.asker(first.asker(waits)),
  };
}
