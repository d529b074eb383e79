/** How often a process has handled more than 50,000 bytes at once (`fixtures/counted-copies.ts`). */
export interface Copies {
  /** Texts parsed as JSON, and texts written from values. */
  readonly parsed: number;
  readonly written: number;
  /** Bytes made a text, and texts made bytes. */
  readonly decoded: number;
  readonly encoded: number;
  /** Bytes copied into one buffer. */
  readonly copied: number;
  /** The most bytes of memory that the process has held since its start. */
  readonly peak: number;
}
