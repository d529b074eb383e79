/** What can go wrong on a bus. `kind` decides; the text is for a person. */
export type BusErrorKind = 'no-responders' | 'closed' | 'payload-too-large' | 'revision-conflict' | 'timeout' | 'overloaded' | 'undecodable';

export class BusError extends Error {
  readonly kind: BusErrorKind;

  constructor(kind: BusErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.kind = kind;
  }
}
