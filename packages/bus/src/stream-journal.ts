import type { StreamEntry } from '@omnibus/protocol';
import type { Bus, Journal } from './bus.ts';
import { streamJournal } from './subjects.ts';

/**
 * Opens the journal of streams that clients may resume.
 * @returns undefined when the bus has no room for it: then the events of a stream are lost with its worker, which is logged.
 */
export async function openStreamJournal(
  bus: Bus,
  log: { warn(fields: object, text: string): void },
): Promise<Journal<StreamEntry> | undefined> {
  try {
    return await bus.journal(streamJournal);
  } catch (error) {
    log.warn({ err: error }, 'streams are not kept: a client whose worker dies cannot come back to one');
    return undefined;
  }
}
