/**
 * The format of messages between processes over NATS, and of records stored there. The rule is in `docs/internals/formats.md`: adding
 * optional members does not change the number; anything that would have another meaning for an older process takes the next number.
 *
 * Messages have the number in their subject (`omnibus.v1`), so that they are not longer; stored records contain it. Signs of life contain it for operators
 * and for the choice of workers; their own form is the same under every number.
 */
import { version } from './version.ts';

export interface Formats {
  /** The version of Omnibus. */
  readonly version: string;
  /** The format that is sent and written. */
  readonly says: number;
  /** The oldest and the newest format that is read. */
  readonly reads: readonly [oldest: number, newest: number];
}

/** The formats of this version. */
export const ownFormats: Formats = { version, says: 1, reads: [1, 1] };

/** Whether each of two processes can read the other's messages. */
export function canTalk(other: Formats, own: Formats = ownFormats): boolean {
  return isRead(other.says, own) && isRead(own.says, other);
}

/** Whether a format can be read. @param format of a message or record. */
export function isRead(format: number, { reads: [oldest, newest] }: Pick<Formats, 'reads'> = ownFormats): boolean {
  return format >= oldest && format <= newest;
}

/** A message for operators that a format cannot be read, with advice. @param what subject of the message. */
export function formatProblem(what: string, { version: own, reads: [oldest, newest] }: Formats = ownFormats): string {
  return `${what}, which this version (${own}) cannot read: it reads format ${oldest === newest ? oldest : `${oldest} to ${newest}`}. Run versions together that are one minor version apart at most`;
}
