/**
 * The format of what processes say to each other over NATS, and of what they store there. `ARCHITECTURE.md`, "How a format changes", has the rule:
 * members are added, all of them optional, which changes no number; what would have another meaning for an older process takes the next number.
 *
 * What is said carries its number in its subject (`omnibus.v1`), so that a message is not a byte longer. What is stored carries it in the record.
 * Signs of life say it for people and for whoever chooses whom to ask; they stay as they are under every number.
 */
import { version } from './version.ts';

export interface Formats {
  /** The version of Omnibus. */
  readonly version: string;
  /** What is said and written. */
  readonly says: number;
  /** What is read, the oldest and the newest. */
  readonly reads: readonly [oldest: number, newest: number];
}

/** The formats of this version. Versions before 0.2.0 said none, and meant 1. */
export const ownFormats: Formats = { version, says: 1, reads: [1, 1] };

/** Whether each can read what the other says. @param other left out of signs before 0.2.0. */
export function canTalk(other: Formats | undefined, own: Formats = ownFormats): boolean {
  return other === undefined || (isRead(other.says, own) && isRead(own.says, other));
}

/** @param format of what was said or stored; undefined before 0.2.0. */
export function isRead(format: number | undefined, { reads: [oldest, newest] }: Pick<Formats, 'reads'> = ownFormats): boolean {
  return format === undefined || (format >= oldest && format <= newest);
}

/** Says in words for people that a format cannot be read, and what to do. */
export function formatProblem(what: string, { version: own, reads: [oldest, newest] }: Formats = ownFormats): string {
  return `${what}, which this version (${own}) cannot read: it reads format ${oldest === newest ? oldest : `${oldest} to ${newest}`}. Run versions together that are one minor version apart at most`;
}
