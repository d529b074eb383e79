/** The part of yauzl that bundles are read with. */
declare module 'yauzl' {
  import type { Readable } from 'node:stream';

  interface Entry {
    readonly fileName: string;
    readonly uncompressedSize: number;
    readonly externalFileAttributes: number;
    /** The system that made it in the upper byte; 3 is Unix. */
    readonly versionMadeBy: number;
    isEncrypted(): boolean;
  }
  interface ZipFile {
    readonly entryCount: number;
    readEntry(): void;
    openReadStream(entry: Entry, opened: (error: Error | null, stream: Readable) => void): void;
    close(): void;
    on(event: 'entry', listener: (entry: Entry) => void): this;
    on(event: 'end', listener: () => void): this;
    on(event: 'error', listener: (error: Error) => void): this;
  }
  interface Options {
    readonly lazyEntries: true;
    /** Whether it can be read no more after its last entry was named. */
    readonly autoClose: false;
    /** Whether names with a backslash are errors. Names that are absolute or have `..` always are. */
    readonly strictFileNames: true;
    /** Whether a stream of more or fewer bytes than the entry names is an error. */
    readonly validateEntrySizes: true;
  }
  export function fromBuffer(
    buffer: Buffer,
    options: Options,
    opened: (error: Error | null, zip: ZipFile) => void,
  ): void;
}
