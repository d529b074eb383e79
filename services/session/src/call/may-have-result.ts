import type { View } from '@omnibus/catalog';
import type { Facts, SourceTool } from '@omnibus/protocol';
import type { Barrier } from './barrier.ts';

/** A caller that asks for a result which it got, or began, earlier. */
export interface ResultReader {
  /** Its view of now. */
  readonly view: View;
  readonly facts: Facts | undefined;
  readonly barrier: Barrier;
}

/** Rights and blocks of now decide about a result of earlier, as about the call that it is from. */
export function mayHaveResult({ view, facts, barrier }: ResultReader, { server, tool }: SourceTool): boolean {
  return (
    view.definition.servers.includes(server) &&
    view.mayHaveTask(server, tool) &&
    barrier.problemOf(facts, server, tool, true) === undefined
  );
}
